// Two arms that exist only as noise with a known truth: what the tests of the protocol run through the real plan, pairs,
// verdicts and gate. The models are those of the simulations behind the protocol (statistics section 7).
import { type Random, seededRandom } from '../stats/random.ts';
import { type Axis, findAxis, PRIMARY_AXES } from './axis.ts';
import type { MeasuredPair } from './pairs.ts';
import { type Plan, type Role, runningOrder } from './plan.ts';

/** Noise of one leg on the log scale: independent, slow drift (AR(1) from leg to leg), and rare one-sided slow-downs. */
export interface NoiseModel {
  independent: number;
  drift: number;
  correlation: number;
  spikeShare: number;
  spikeMean: number;
}

export const NOISE = {
  gpu: { independent: 0.004, drift: 0.006, correlation: 0.97, spikeShare: 0.01, spikeMean: 0.03 },
  vm: { independent: 0.02, drift: 0.05, correlation: 0.9, spikeShare: 0.05, spikeMean: 0.12 },
  badVm: { independent: 0.04, drift: 0.1, correlation: 0.85, spikeShare: 0.12, spikeMean: 0.25 },
  none: { independent: 0, drift: 0, correlation: 0, spikeShare: 0, spikeMean: 0 },
} as const satisfies Record<string, NoiseModel>;

export interface Truth {
  noise: NoiseModel;
  seed: number;
  /** The true direction-normalised ratio of a cell; default 1. */
  ratio?: (axis: string, concurrency: number) => number;
  /** Standard deviation of an effect that an arm keeps for a whole launch, log scale. */
  launchSd?: number;
  /** Slow-down from one slice to the next, log scale: a machine that heats up. */
  ramp?: number;
  /** Noise of each axis of its own, as a share of the independent noise; default 1. */
  ownNoise?: number;
  axes?: readonly string[];
  requests?: number;
}

/** Values at parity and without noise, in the unit of the axis. */
const TYPICAL: Readonly<Record<string, number>> = {
  output_throughput: 400,
  'ttft.p50': 450,
  'tpot.mean': 20,
  peak_memory: 4e9,
};

/** What measuring this plan would give if the arms were as the truth says. The same arguments give the same pairs. */
export function simulate(plan: Plan, truth: Truth): MeasuredPair[] {
  const axes = (truth.axes ?? PRIMARY_AXES).map(requireAxis);
  const slow = slowdowns(plan, truth);
  const random = seededRandom(truth.seed, 'axes');
  return plan.pairs.map((pair): MeasuredPair => {
    const arm = (role: Role) => {
      const values: Record<string, number> = {};
      for (const axis of axes) {
        const own = (truth.ownNoise ?? 1) * truth.noise.independent * 0.7 * normal(random);
        const memory = axis.kind === 'memory' ? 0.05 : 1;
        const log = memory * ((slow.get(`${pair.id}/${role}`) ?? 0) + own);
        const merit = role === 'ours' ? (truth.ratio?.(axis.id, pair.concurrency) ?? 1) : 1;
        const better = axis.direction === 'higher' ? merit * Math.exp(-log) : Math.exp(log) / merit;
        values[axis.id] = (TYPICAL[axis.id] ?? 100) * better;
      }
      return values;
    };
    const { id, concurrency, quad, launch, slices } = pair;
    const lead = slices[0] ?? 'ours';
    const requests = truth.requests ?? 48;
    return {
      ...{ id, concurrency, quad, launch, lead, requests },
      ours: arm('ours'),
      reference: arm('reference'),
      voids: [],
    };
  });
}

/** The mean slow-down of each leg over its slices, in running order. */
function slowdowns(plan: Plan, truth: Truth): Map<string, number> {
  const { noise } = truth;
  const random = seededRandom(truth.seed, 'legs');
  const launches = new Map<string, number>();
  const sums = new Map<string, { sum: number; count: number }>();
  let drift = noise.drift * normal(random);
  const fresh = Math.sqrt(1 - noise.correlation ** 2) * noise.drift;
  for (const [position, { pair, role }] of runningOrder(plan).entries()) {
    const launchKey = `${pair.launch}/${role}`;
    const launch = launches.get(launchKey) ?? (truth.launchSd ?? 0) * normal(random);
    launches.set(launchKey, launch);
    const spike = random.unit() < noise.spikeShare ? -noise.spikeMean * logUnit(random) : 0;
    const log = drift + noise.independent * normal(random) + spike + launch;
    const key = `${pair.id}/${role}`;
    const old = sums.get(key) ?? { sum: 0, count: 0 };
    sums.set(key, {
      sum: old.sum + log + (truth.ramp ?? 0) * position,
      count: old.count + 1,
    });
    drift = noise.correlation * drift + fresh * normal(random);
  }
  return new Map([...sums].map(([key, { sum, count }]) => [key, sum / count]));
}

/** A standard normal draw (Box and Muller). */
export function normal(random: Random): number {
  return Math.sqrt(-2 * logUnit(random)) * Math.cos(2 * Math.PI * random.unit());
}

function logUnit(random: Random): number {
  return Math.log(1 - random.unit());
}

function requireAxis(id: string): Axis {
  const axis = findAxis(id);
  if (axis === undefined) throw new RangeError(`There is no axis ${id}.`);
  return axis;
}
