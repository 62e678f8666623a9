// Experiments on the protocol itself, with arms whose truth is known: how often does the real code err? The acceptance tests
// run them short, their slow forms long. Every experiment is a pure function of its seed.
import { hodgesLehmann } from '../stats/hodges-lehmann.ts';
import { countModes, findModes } from '../stats/modes.ts';
import { auditNoise, type NoiseAudit } from '../stats/noise-audit.ts';
import { seededRandom } from '../stats/random.ts';
import { type Axis, findAxis, PRIMARY_AXES } from './axis.ts';
import { calibrateCells } from './calibration.ts';
import { type CampaignQuestion, judgeCampaign } from './family.ts';
import type { MeasuredPair } from './pairs.ts';
import { makeLooks, makePlan, type PlanOptions } from './plan.ts';
import { type NoiseModel, normal, simulate, type Truth } from './simulated-arms.ts';
import { type CellQuestion, type CellVerdict, judgeCell, type Verdict } from './verdict.ts';

const THROUGHPUT = 'output_throughput';

function requireAxis(id: string): Axis {
  const axis = findAxis(id);
  if (axis === undefined) throw new RangeError(`There is no axis ${id}.`);
  return axis;
}

function measure(truth: Truth, options: Partial<PlanOptions> = {}): MeasuredPair[] {
  const plan = makePlan({
    ...{ seed: truth.seed, concurrencies: [1], residency: 'co-resident', slice: 'leg' },
    ...options,
  });
  return simulate(plan, truth);
}

/** A/A cells of two equal arms, four in a campaign of 16 pairs: how many bounds exclude parity on each side. */
export function auditEqualArms(
  truth: Omit<Truth, 'seed'>,
  cells: number,
  seed: number,
  options: Partial<PlanOptions> = {},
): NoiseAudit {
  const counts = { cells: 0, flaggedBelow: 0, flaggedAbove: 0 };
  for (let run = 0; counts.cells < cells; run += 1) {
    const concurrencies = [1, 2, 4, 8];
    const own = { ...truth, axes: [THROUGHPUT], seed: seed * 100_000 + run };
    const pairs = measure(own, { looks: [16], concurrencies, ...options });
    const calibrated = calibrateCells([requireAxis(THROUGHPUT)], concurrencies, pairs);
    for (const { flagged } of Object.values(calibrated)) {
      counts.cells += 1;
      if (flagged === 'below') counts.flaggedBelow += 1;
      if (flagged === 'above') counts.flaggedAbove += 1;
    }
  }
  return auditNoise(counts);
}

/** Shares of the verdicts of one cell at one look of n pairs and 2.5 %. */
export function verdictShares(
  truth: { noise: NoiseModel; ratio: number; launchSd?: number },
  plan: { pairs: number; margin: number; unit?: 'pair' | 'launch' },
  runs: number,
  seed: number,
): Record<Verdict, number> {
  const shares = { PASS: 0, 'BELOW-FLOOR': 0, PENDING: 0, VOID: 0 };
  for (let run = 0; run < runs; run += 1) {
    const pairs = measure(
      {
        noise: truth.noise,
        launchSd: truth.launchSd ?? 0,
        ownNoise: 0,
        axes: [THROUGHPUT],
        ratio: () => truth.ratio,
        seed: seed * 100_000 + run,
      },
      { looks: [plan.pairs] },
    );
    const look = { alpha: 0.025, last: true };
    const { verdict } = judgeCell(question(THROUGHPUT, 1, plan.margin, look, plan.unit), pairs);
    shares[verdict] += 1 / runs;
  }
  return shares;
}

/** Looks at 8, 16 and 24 pairs at a true ratio: how often the cell passes at any of them, and the pairs it took. */
export function sequentialPasses(
  truth: { noise: NoiseModel; ratio: number },
  margin: number,
  runs: number,
  seed: number,
): { passShare: number; belowShare: number; meanPairs: number } {
  const looks = makeLooks([8, 16, 24]);
  let [passed, below, used] = [0, 0, 0];
  for (let run = 0; run < runs; run += 1) {
    const own = { ...truth, ratio: () => truth.ratio, axes: [THROUGHPUT], ownNoise: 0 };
    const pairs = measure({ ...own, seed: seed * 100_000 + run });
    for (const look of looks) {
      const asked = question(THROUGHPUT, 1, margin, look);
      const { verdict } = judgeCell(asked, pairs.slice(0, look.pairs));
      if (verdict === 'PENDING' && !look.last) continue;
      if (verdict === 'PASS') passed += 1;
      if (verdict === 'BELOW-FLOOR') below += 1;
      used += look.pairs;
      break;
    }
  }
  return { passShare: passed / runs, belowShare: below / runs, meanPairs: used / runs };
}

/** Whole campaigns of 16 cells: how often any cell turns red when the truth of each is as given. */
export function redShare(
  truth: { noise: NoiseModel; ratio: (axis: string, concurrency: number) => number },
  plan: { pairs: number; margin: number; method: 'maxT' | 'holm'; draws: number },
  runs: number,
  seed: number,
): number {
  const concurrencies = [1, 2, 4, 8];
  const axes = PRIMARY_AXES.filter((id) => id !== 'peak_memory');
  let red = 0;
  for (let run = 0; run < runs; run += 1) {
    const pairs = measure(
      { ...truth, axes, seed: seed * 100_000 + run },
      { looks: [plan.pairs], concurrencies },
    );
    const questions = concurrencies.flatMap((concurrency) =>
      axes.map(
        (id): CampaignQuestion => ({
          ...question(id, concurrency, plan.margin, { alpha: 0.025, last: true }),
          gated: true,
        }),
      ),
    );
    const family = { alpha: 0.01, method: plan.method, seed: run, draws: plan.draws };
    if (judgeCampaign(questions, pairs, family).verdict === 'BELOW-FLOOR') red += 1;
  }
  return red / runs;
}

/**
 * A noisy neighbour (throughput falls as its share of the CPU rises), 12 pairs wanted: pairs are void when either leg saw a
 * share of over a quarter, and are measured again. The verdicts at a margin of 5 %, and the median estimate.
 */
export function voidByForeignShare(ratio: number, runs: number, seed: number) {
  const random = seededRandom(seed, 'neighbour');
  // Beta(1.2, 4) has no simple inverse; the square of a uniform has about its mean and its skew.
  const share = () => 0.7 * random.unit() ** 2;
  const estimates: number[] = [];
  let passed = 0;
  for (let run = 0; run < runs; run += 1) {
    const pairs: MeasuredPair[] = [];
    let valid = 0;
    for (let index = 0; valid < 12; index += 1) {
      const shares = [share(), share()];
      const [ours = 0, reference = 0] = shares.map((own) => -1.5 * own + 0.02 * normal(random));
      const isVoid = shares.some((own) => own > 0.25);
      if (!isVoid) valid += 1;
      pairs.push({
        ...{ id: `p${index}`, concurrency: 1, quad: index >> 1, launch: index >> 1 },
        lead: index % 2 === 0 ? 'ours' : 'reference',
        ours: { [THROUGHPUT]: 400 * ratio * Math.exp(ours) },
        reference: { [THROUGHPUT]: 400 * Math.exp(reference) },
        voids: isVoid ? [{ code: 'contended' }] : [],
      });
    }
    const look = { alpha: 0.025, last: true };
    // The void budget is another question, asked elsewhere; here only the selection matters.
    const counted = pairs.filter(({ voids }) => voids.length === 0);
    const cell = judgeCell(question(THROUGHPUT, 1, 0.05, look), counted);
    if (cell.verdict === 'PASS') passed += 1;
    estimates.push(cell.ratio?.estimate ?? Number.NaN);
  }
  const { estimate } = hodgesLehmann(estimates.slice(0, 200), 0.05);
  return { passShare: passed / runs, estimate };
}

/** Equal arms whose TTFT is decided by the phase of arrival: 450 or 900 ms by a coin. One verdict a run. */
export function twoModeVerdicts(slowOurs: number, runs: number, seed: number): CellVerdict[] {
  const random = seededRandom(seed, 'two-mode');
  const id = 'ttft.p50';
  const leg = (factor: number) =>
    Array.from({ length: 24 }, () => {
      const mode = random.unit() < 0.5 ? 900 : 450;
      return mode * factor * Math.exp(0.003 * normal(random));
    });
  return Array.from({ length: runs }, () => {
    const legs = Array.from({ length: 16 }, () => ({ ours: leg(slowOurs), reference: leg(1) }));
    const found = findModes(legs.flatMap(({ reference }) => reference));
    const pairs = legs.map(({ ours, reference }, index): MeasuredPair => {
      const split = found?.split;
      const modes =
        split === undefined
          ? {}
          : {
              modes: {
                [id]: { ours: countModes(ours, split), reference: countModes(reference, split) },
              },
            };
      return {
        ...{ id: `p${index}`, concurrency: 1, quad: index >> 1, launch: index >> 1, voids: [] },
        lead: index % 2 === 0 ? 'ours' : 'reference',
        ours: { [id]: middle(ours) },
        reference: { [id]: middle(reference) },
        requests: 24,
        ...modes,
      };
    });
    return judgeCell(question(id, 1, 0.05, { alpha: 0.025, last: true }), pairs);
  });
}

/** The mean estimate of equal arms on a machine that slows down by this much from leg to leg, log scale. */
export function biasUnderRamp(order: 'mirrored' | 'blocked', ramp: number, seed: number): number {
  const noise = { independent: 0, drift: 0, correlation: 0, spikeShare: 0, spikeMean: 0 };
  const pairs = measure({ noise, ramp, seed, axes: [THROUGHPUT] }, { order, looks: [8] });
  const look = { alpha: 0.025, last: true };
  const cell = judgeCell(question(THROUGHPUT, 1, 0.01, look), pairs);
  return Math.log(cell.statistics?.geometricMean ?? Number.NaN);
}

function question(
  id: string,
  concurrency: number,
  margin: number,
  look: CellQuestion['look'],
  unit: 'pair' | 'launch' = 'pair',
): CellQuestion {
  return { axis: requireAxis(id), concurrency, floor: 1, margin, look, unit };
}

function middle(values: readonly number[]): number {
  const sorted = [...values].sort((x, y) => x - y);
  const half = sorted.length >> 1;
  return ((sorted[half - 1] ?? 0) + (sorted[half] ?? 0)) / 2;
}
