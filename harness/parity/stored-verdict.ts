// The form of a campaign's verdict that goes into a record: numbers rounded to 12 significant digits, no bound written as
// null, and without the units, which the record's pairs already hold. The same campaign gives the same bytes.
import { stored } from '../stats/domain.ts';
import type { CampaignVerdict } from './family.ts';

export type Stored =
  | null
  | boolean
  | number
  | string
  | readonly Stored[]
  | { readonly [key: string]: Stored };

/** A plain JSON value of the verdict. Absent fields stay absent; infinite bounds (no bound exists) become null. */
export function storedVerdict(verdict: CampaignVerdict): Stored {
  return plain(verdict);
}

function plain(value: unknown): Stored {
  if (typeof value === 'number') return Number.isFinite(value) ? stored(value) : null;
  if (value === null || typeof value === 'boolean' || typeof value === 'string') return value;
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object') {
    throw new RangeError(`A verdict holds a ${typeof value}, which no record can.`);
  }
  const entries = Object.entries(value).filter(
    ([key, held]) => held !== undefined && key !== 'units',
  );
  return Object.fromEntries(entries.map(([key, held]) => [key, plain(held)]));
}
