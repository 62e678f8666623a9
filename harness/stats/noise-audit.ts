// The running check of the noise model: how many A/A cells may be flagged before the model is wrong (statistics section
// 2.10). Counts of both directions are kept, because flags that all point one way betray an order bias.
import { requireCount, requireProbability } from './domain.ts';
import { binomialCdf } from './special-functions.ts';

/** The most flags that a right noise model stays within with 99 % probability: 3, 4, 7, 11, 18 of 20, 50, 100, 200, 400. */
export function flagsAllowed(cells: number, nominal = 0.025, confidence = 0.99): number {
  requireCount(cells, 0, 'The number of cells');
  requireProbability(nominal, 'The nominal rate');
  requireProbability(confidence, 'The confidence');
  let flags = 0;
  while (binomialCdf(flags, cells, nominal) < confidence) flags += 1;
  return flags;
}

/** How probable it is that an audit of so many cells notices a true false-alarm rate. */
export function noticeProbability(cells: number, trueRate: number, nominal = 0.025): number {
  return 1 - binomialCdf(flagsAllowed(cells, nominal), cells, trueRate);
}

export interface NoiseAudit {
  cells: number;
  /** Cells whose bound excluded parity on the named side. */
  flaggedBelow: number;
  flaggedAbove: number;
  /** Allowed on each side. */
  allowed: number;
  /** False when either side has more flags than allowed: no gate may be trusted in this environment until it is explained. */
  sound: boolean;
}

/** Judges the one-sided flags of A/A cells, each side at the nominal rate (default 2.5 %). */
export function auditNoise(
  counts: { cells: number; flaggedBelow: number; flaggedAbove: number },
  nominal = 0.025,
): NoiseAudit {
  requireCount(counts.flaggedBelow, 0, 'The number of flags below');
  requireCount(counts.flaggedAbove, 0, 'The number of flags above');
  const allowed = flagsAllowed(counts.cells, nominal);
  const sound = counts.flaggedBelow <= allowed && counts.flaggedAbove <= allowed;
  return { ...counts, allowed, sound };
}
