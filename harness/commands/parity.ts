// `bench sweep --reference ARM` and `--aa`: a comparison in mirrored pairs. Runs the campaign, writes one record, prints verdicts.
import { takeRunLock } from '../arms/run-lock.ts';
import { EXIT, HarnessError } from '../errors.ts';
import type { Campaign } from '../parity/campaign.ts';
import type { CampaignVerdict } from '../parity/family.ts';
import type { Role } from '../parity/plan.ts';
import { captureEnvironment } from '../record/environment.ts';
import { harnessIdentity, privateNames } from '../record/harness-identity.ts';
import { writeRecord } from '../record/store.ts';
import { requireWritable } from '../record/write-once.ts';
import { progressOn, type RunProgress } from '../report/progress.ts';
import { comparisonTable } from '../report/verdicts.ts';
import { type Arm, armOf } from '../scenario/arm.ts';
import type { SweepOptions } from '../scenario/sweep-options.ts';
import { campaignOf, draftParity, withoutMemory } from '../sweep/campaign-draft.ts';
import { type CampaignEvents, type CampaignOutcome, runCampaign } from '../sweep/run-campaign.ts';
import { completed, sweepArm } from '../sweep/run-sweep.ts';
import type { CommandContext } from './context.ts';
import { writePages } from './generated-pages.ts';

const EXITS: Readonly<Record<CampaignVerdict['verdict'], number>> = {
  PASS: EXIT.ok,
  'BELOW-FLOOR': EXIT.belowFloor,
  PENDING: EXIT.pending,
  VOID: EXIT.void,
};

/** Runs the comparison; the exit code is that of its verdict. */
export async function parityCommand(
  options: SweepOptions,
  context: CommandContext,
): Promise<number> {
  const arms = armsOf(options);
  const campaign = questionOf(options, arms);
  requireWritable(options.records);
  const lock = await takeRunLock(context.lockScope, 'sweep');
  const progress = progressOn(process.stderr);
  try {
    const outcome = await runCampaign(options, arms, campaign, eventsFor(progress), context);
    const draft = draftParity(options, campaign, outcome, {
      createdUtc: context.now().toISOString(),
      environment: captureEnvironment(),
      harness: harnessIdentity(),
      secrets: privateNames(),
    });
    const { record, path } = writeRecord(options.records, draft, outcome.rows);
    progress.end();
    if (options.json) console.log(JSON.stringify(record));
    else show(options, outcome);
    const page = writePages(options.records, options.benchmarks);
    progress.line(`record ${record.id.slice(0, 12)} in ${path}; page ${page}`);
    return outcome.end === undefined ? EXIT.interrupted : EXITS[outcome.end.verdict.verdict];
  } finally {
    progress.end();
    await lock.release();
  }
}

function armsOf(options: SweepOptions): Record<Role, Arm> {
  const ours = sweepArm(options);
  if (options.aa) return { ours, reference: ours };
  const model = 'model' in ours ? ours.model : undefined;
  const reference = completed(armOf(options.reference ?? ''), model);
  const bare = ({ label: _, ...rest }: Arm) => JSON.stringify(rest);
  if (bare(reference) === bare(ours)) {
    throw new HarnessError(
      'USAGE',
      'Both arms are the same server, so there is nothing to compare.',
      {
        hint: 'To measure the noise of this machine, use: bench sweep --aa',
      },
    );
  }
  return { ours, reference };
}

function questionOf(options: SweepOptions, arms: Record<Role, Arm>): Campaign {
  try {
    const campaign = campaignOf(options);
    // One process has one memory: two URLs may be the same server.
    const local = Object.values(arms).every(({ kind }) => kind !== 'url');
    return local ? campaign : withoutMemory(campaign);
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause;
    throw new HarnessError('USAGE', cause.message, {
      cause,
      hint: 'See --looks in: bench sweep --help',
    });
  }
}

function eventsFor(progress: RunProgress): CampaignEvents {
  const startedNs = process.hrtime.bigint();
  return {
    onStage: (what) => progress.stage(what),
    onPair({ id, voids }, measured, leftAtMost) {
      const elapsed = Number(process.hrtime.bigint() - startedNs) / 1e9;
      if (voids.length > 0)
        progress.line(`${id}: void ${voids.map(({ code }) => code).join(', ')}`);
      progress.stage(`pair ${measured} of at most ${measured + leftAtMost}`);
      progress.advance(measured, measured + leftAtMost, (elapsed / measured) * leftAtMost);
    },
  };
}

function show(options: SweepOptions, { arms, answers, end }: CampaignOutcome): void {
  if (end === undefined) {
    console.log(
      'Interrupted: the pairs that were measured are in the record; there is no verdict.',
    );
    return;
  }
  const { ours, reference } = arms;
  const shown = { ours: ours.label, reference: reference.label, aa: options.aa, answers };
  console.log(comparisonTable({ ...shown, verdict: end.verdict }));
}
