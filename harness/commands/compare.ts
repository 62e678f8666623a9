// `bench compare A B`: two sweeps side by side. It says what can be said without pairs, and refuses what is not comparable.
import { EXIT, HarnessError } from '../errors.ts';
import type { SweepRecord } from '../record/record.ts';
import { findRecord } from '../record/store.ts';
import { sideBySide } from '../report/side-by-side.ts';
import { firstDifference } from '../sweep/comparable.ts';

/** Prints the table; INVALID_FILE names the key that differs. */
export function compareCommand(a: string, b: string, { records }: { records: string }): number {
  const [left, right] = [sweepWith(records, a), sweepWith(records, b)];
  const difference = firstDifference(left, right);
  if (difference !== undefined) {
    throw new HarnessError(
      'INVALID_FILE',
      `${a} and ${b} cannot be compared; they differ in ${difference}.`,
      {
        hint: 'Measure both in the same way, or side by side with: bench sweep --reference ARM',
      },
    );
  }
  console.log(sideBySide(left, right));
  return EXIT.ok;
}

function sweepWith(records: string, id: string): SweepRecord {
  const { record } = findRecord(records, id);
  if (record.kind === 'sweep') return record;
  throw new HarnessError('USAGE', `Record ${id} is a ${record.kind}, not a sweep.`, {
    hint: 'See its verdicts with: bench records show ID',
  });
}
