// The plan of a campaign from a recorded seed: which arm runs when, at which concurrency and in which launch (statistics
// sections 2.2 and 2.6). Pure: the same options give the same plan on every machine. It runs nothing.
import { alphaPerLook } from '../stats/planning.ts';
import { GENERATOR, type Random, seededRandom, shuffled } from '../stats/random.ts';

export type Role = 'ours' | 'reference';
/** 'request' and 'burst' need both servers resident at once; 'leg' does not. */
type Slice = 'request' | 'burst' | 'leg';

export interface PlanOptions {
  /** Whole number from 0; stored in the record. */
  seed: number;
  concurrencies: readonly number[];
  /** Pairs in each cell at which a verdict may be given, ascending and even; default 8, 16, 24. */
  looks?: readonly number[];
  /** Default 1: both servers are started anew for every quad. At least 4 launches must come out. */
  quadsPerLaunch?: number;
  residency: 'co-resident' | 'exclusive';
  slice: Slice;
  /** Slices of each arm in a pair when sliced finely; even, default 20. */
  slicesPerArm?: number;
  /** 'blocked' runs one arm after the other. It exists to show what that does and never binds. */
  order?: 'mirrored' | 'blocked';
}

export interface PlannedPair {
  /** Such as "c4-p03": unique in the campaign. */
  id: string;
  concurrency: number;
  /** From 0 within the concurrency; the two pairs of a quad are mirrored. */
  index: number;
  quad: number;
  /** Start of both servers, from 0. With exclusive residency every leg is a start, and this counts pairs. */
  launch: number;
  /** Who goes when. A leg-sliced pair has two entries; a finely sliced one has `slicesPerArm` of each. */
  slices: readonly Role[];
}

export interface Look {
  pairs: number;
  /** One-sided level of each bound at this look. */
  alpha: number;
  last: boolean;
}

export interface Plan {
  generator: string;
  seed: number;
  /** In the order in which they run. */
  pairs: readonly PlannedPair[];
  looks: readonly Look[];
  launches: number;
  residency: 'co-resident' | 'exclusive';
  slice: Slice;
  order: 'mirrored' | 'blocked';
  /** Reasons why no record of this plan may bind; empty for a proper one. */
  nonBinding: readonly 'order_blocked'[];
}

const DEFAULT_LOOKS = [8, 16, 24];
const FEWEST_LAUNCHES = 4;
const DEFAULT_SLICES = 20;

/** Makes the plan. RangeError, with the value and what to do, for options that cannot give a sound one. */
export function makePlan(options: PlanOptions): Plan {
  const looks = makeLooks(options.looks ?? DEFAULT_LOOKS);
  checkConcurrencies(options.concurrencies);
  const quads = (looks.at(-1)?.pairs ?? 0) / 2;
  const quadsPerLaunch = options.quadsPerLaunch ?? 1;
  checkLaunches(options, quads, quadsPerLaunch);
  const order = options.order ?? 'mirrored';
  const slicesPerArm = options.slice === 'leg' ? 1 : (options.slicesPerArm ?? DEFAULT_SLICES);
  checkSlices(options, slicesPerArm);
  const pairs: PlannedPair[] = [];
  for (let quad = 0; quad < quads; quad += 1) {
    const random = seededRandom(options.seed, 'plan', quad);
    for (const concurrency of shuffled(options.concurrencies, random)) {
      const launch = Math.floor(quad / quadsPerLaunch);
      for (const pair of mirroredPairs(concurrency, quad, slicesPerArm, random)) {
        const exclusive = options.residency === 'exclusive';
        pairs.push({ ...pair, launch: exclusive ? pairs.length : launch });
      }
    }
  }
  return {
    generator: GENERATOR,
    seed: options.seed,
    pairs,
    looks,
    launches: new Set(pairs.map(({ launch }) => launch)).size,
    residency: options.residency,
    slice: options.slice,
    order,
    nonBinding: order === 'blocked' ? ['order_blocked'] : [],
  };
}

/**
 * The slices of the whole plan in running order. Mirrored: pair by pair. Blocked: at each concurrency all of one arm,
 * then all of the other.
 */
export function runningOrder(plan: Plan): { pair: PlannedPair; role: Role }[] {
  const order = plan.pairs.flatMap((pair) => pair.slices.map((role) => ({ pair, role })));
  if (plan.order === 'mirrored') return order;
  const concurrencies = [...new Set(plan.pairs.map(({ concurrency }) => concurrency))];
  return concurrencies.flatMap((concurrency) =>
    (['ours', 'reference'] as const).flatMap((role) =>
      order.filter((slice) => slice.role === role && slice.pair.concurrency === concurrency),
    ),
  );
}

/** One letter a pair in running order, A where ours leads: what a record stores beside the seed. */
export function orderString(plan: Plan): string {
  return plan.pairs.map(({ slices: [first] }) => (first === 'ours' ? 'A' : 'B')).join('');
}

/**
 * Whether the pairs that were measured keep the promise of mirrored order: in no cell do the leads of the arms differ by
 * more than the pairs that voids left without their mirror image.
 */
export function isMirrored(
  pairs: readonly { concurrency: number; quad: number; lead: Role }[],
): boolean {
  const quads = new Map<string, Role[]>();
  for (const { concurrency, quad, lead } of pairs) {
    const key = `${concurrency}/${quad}`;
    quads.set(key, [...(quads.get(key) ?? []), lead]);
  }
  return [...quads.values()].every((leads) => {
    const ours = leads.filter((lead) => lead === 'ours').length;
    return Math.abs(2 * ours - leads.length) <= leads.length % 2;
  });
}

/** Looks at these numbers of pairs, with the level that spends 2.5 % over all of them. */
export function makeLooks(pairs: readonly number[]): Look[] {
  const sound =
    pairs.length > 0 &&
    pairs.every((n, index) => Number.isInteger(n) && n % 2 === 0 && n > (pairs[index - 1] ?? 0));
  if (!sound) {
    throw new RangeError(
      `Looks at ${pairs.join(', ') || 'no'} pairs cannot be planned; give even numbers that rise.`,
    );
  }
  const alpha = alphaPerLook(pairs.length);
  return pairs.map((n, index) => ({ pairs: n, alpha, last: index === pairs.length - 1 }));
}

/** The two pairs of a quad: a coin decides who leads the first, the second is its mirror image. */
function mirroredPairs(concurrency: number, quad: number, slicesPerArm: number, random: Random) {
  const first: Role = random.below(2) === 0 ? 'ours' : 'reference';
  return [first, other(first)].map((leads, half) => {
    const index = quad * 2 + half;
    return {
      id: `c${concurrency}-p${String(index).padStart(2, '0')}`,
      concurrency,
      index,
      quad,
      slices: slices(leads, slicesPerArm, random),
    };
  });
}

/** Mirrored groups of four (ABBA or BAAB by a coin), so that drift within the pair cancels as it does between pairs. */
function slices(leads: Role, perArm: number, random: Random): Role[] {
  if (perArm === 1) return [leads, other(leads)];
  const result: Role[] = [];
  for (let group = 0; group < perArm / 2; group += 1) {
    const first = group === 0 ? leads : random.below(2) === 0 ? 'ours' : 'reference';
    result.push(first, other(first), other(first), first);
  }
  return result;
}

function other(role: Role): Role {
  return role === 'ours' ? 'reference' : 'ours';
}

function checkConcurrencies(concurrencies: readonly number[]): void {
  const bad = concurrencies.find((c) => !Number.isInteger(c) || c < 1);
  if (bad !== undefined || concurrencies.length === 0) {
    throw new RangeError(
      `Concurrency ${bad ?? 'is missing'} cannot be planned; give whole numbers from 1.`,
    );
  }
  if (new Set(concurrencies).size !== concurrencies.length) {
    throw new RangeError(`Concurrencies ${concurrencies.join(', ')} repeat; name each one once.`);
  }
}

function checkLaunches(options: PlanOptions, quads: number, quadsPerLaunch: number): void {
  if (!Number.isInteger(quadsPerLaunch) || quadsPerLaunch < 1) {
    throw new RangeError(`${quadsPerLaunch} quads a launch; give a whole number from 1.`);
  }
  const launches = Math.ceil(quads / quadsPerLaunch);
  if (options.residency === 'co-resident' && launches < FEWEST_LAUNCHES) {
    throw new RangeError(
      `The plan has ${launches} launches; at least ${FEWEST_LAUNCHES} are needed, because pairs of ` +
        'one launch are not independent. Plan more pairs or fewer quads a launch.',
    );
  }
}

function checkSlices(options: PlanOptions, slicesPerArm: number): void {
  if (options.slice === 'leg') return;
  if (options.residency === 'exclusive') {
    throw new RangeError(
      `Slicing by ${options.slice} needs both servers resident; slice by leg when they exclude each other.`,
    );
  }
  if (!Number.isInteger(slicesPerArm) || slicesPerArm < 2 || slicesPerArm % 2 !== 0) {
    throw new RangeError(`${slicesPerArm} slices an arm; give an even whole number from 2.`);
  }
}
