// The gap of TPOT against a reference: how much lies in the engine span and how much in the rest, with the residual
// paired within each run. Both sides must come from the same method; one run a side supports nothing. Pure.
import { HarnessError } from '../errors.ts';
import { seededRandom } from '../stats/random.ts';
import { type Interval, meanInterval, studentWidth } from './intervals.ts';

export interface GapRun {
  /** Step period or TPOT of this run, ms per step. */
  periodMs: number;
  /** Engine span of the same run, by the same capture, ms per step. */
  spanMs: number;
}

export interface GapSide {
  name: string;
  /** How spans were measured: the same words on both sides, or the comparison is refused. */
  method: string;
  /** 'decode' or 'prefill': steps of different kinds are never mixed. */
  steps: 'decode' | 'prefill';
  runs: GapRun[];
}

export interface GapPart {
  ms: number;
  se: number;
  interval: Interval;
}

export interface Gap {
  method: string;
  runs: [ours: number, reference: number];
  total: GapPart;
  span: GapPart;
  residual: GapPart;
  /** Share of the gap that is residual, by bootstrap over runs; absent while the gap itself is not told from 0. */
  residualShare?: { estimate: number; sorted: number[] };
}

/** Welch difference of two means. */
function welch(a: readonly number[], b: readonly number[], confidence: number): GapPart {
  const x = meanInterval(a);
  const y = meanInterval(b);
  const ms = x.mean - y.mean;
  const se = Math.hypot(x.se, y.se);
  if (!Number.isFinite(se)) return { ms, se, interval: { low: -Infinity, high: Infinity } };
  if (se === 0) return { ms, se, interval: { low: ms, high: ms } };
  const df =
    se ** 4 / (x.se ** 4 / Math.max(1, a.length - 1) + y.se ** 4 / Math.max(1, b.length - 1));
  const width = studentWidth(df, confidence) * se;
  return { ms, se, interval: { low: ms - width, high: ms + width } };
}

/** Splits the gap ours - reference; refuses sides that were measured differently or on different kinds of steps. */
export function gapAgainst(ours: GapSide, reference: GapSide, confidence = 0.95): Gap {
  if (ours.method !== reference.method)
    throw new HarnessError(
      'USAGE',
      `${ours.name} was measured by ${ours.method} and ${reference.name} by ${reference.method}: a difference of two tools is no gap`,
      { hint: 'Measure both sides by the same method.' },
    );
  if (ours.steps !== reference.steps)
    throw new HarnessError(
      'USAGE',
      `${ours.name} holds ${ours.steps} steps and ${reference.name} ${reference.steps} steps: compare equal kinds`,
    );
  const periods = (side: GapSide) => side.runs.map((run) => run.periodMs);
  const spans = (side: GapSide) => side.runs.map((run) => run.spanMs);
  const residuals = (side: GapSide) => side.runs.map((run) => run.periodMs - run.spanMs);
  const total = welch(periods(ours), periods(reference), confidence);
  const share = residualShare(ours, reference, total);
  return {
    method: ours.method,
    runs: [ours.runs.length, reference.runs.length],
    total,
    span: welch(spans(ours), spans(reference), confidence),
    residual: welch(residuals(ours), residuals(reference), confidence),
    ...(share ? { residualShare: share } : undefined),
  };
}

function residualShare(ours: GapSide, reference: GapSide, total: GapPart): Gap['residualShare'] {
  const clear = total.interval.low > 0 || total.interval.high < 0;
  if (!clear) return undefined;
  const random = seededRandom(1, 'residual share');
  const draw = (runs: readonly GapRun[]) => {
    let period = 0;
    let span = 0;
    for (let i = 0; i < runs.length; i++) {
      const run = runs[random.below(runs.length)];
      period += (run?.periodMs ?? 0) / runs.length;
      span += (run?.spanMs ?? 0) / runs.length;
    }
    return { period, span };
  };
  const sorted = Array.from({ length: 1_000 }, () => {
    const a = draw(ours.runs);
    const b = draw(reference.runs);
    return (a.period - a.span - (b.period - b.span)) / (a.period - b.period);
  })
    .filter(Number.isFinite)
    .sort((x, y) => x - y);
  const mean = (runs: readonly GapRun[], of: (run: GapRun) => number) =>
    runs.reduce((sum, run) => sum + of(run), 0) / runs.length;
  const residual = (run: GapRun) => run.periodMs - run.spanMs;
  const estimate = (mean(ours.runs, residual) - mean(reference.runs, residual)) / total.ms;
  return { estimate, sorted };
}
