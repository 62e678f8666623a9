// When requests are to be sent in open loop: schedules of absolute times from a rate and a seed. Pure. Absolute times do
// not drift: a late request does not delay the next one's schedule.
import { seededRandom } from '../stats/random.ts';

/** Equally spaced. Times are ns from the start; the first request is due at once. */
export function constantArrivals(ratePerSecond: number, count: number): number[] {
  requireRate(ratePerSecond);
  return Array.from({ length: count }, (_, index) => Math.round((index * 1e9) / ratePerSecond));
}

/** A Poisson process: independent exponential gaps from the seed. Times are ns from the start, ascending. */
export function poissonArrivals(ratePerSecond: number, count: number, seed: number): number[] {
  requireRate(ratePerSecond);
  const random = seededRandom(seed, 'poisson');
  let atNs = 0;
  return Array.from({ length: count }, () => {
    // The unit draw may be 0 and never 1, so its complement keeps the logarithm finite.
    atNs += (-Math.log(1 - random.unit()) / ratePerSecond) * 1e9;
    return Math.round(atNs);
  });
}

/** A rate that grows linearly from `from` to `to` over the duration; times are ns from the start, ascending. */
export function rampArrivals(from: number, to: number, durationSeconds: number): number[] {
  requireRate(to);
  if (!(from >= 0) || !(durationSeconds > 0)) {
    throw new RangeError(`A ramp from ${from}/s over ${durationSeconds} s cannot be made.`);
  }
  // After t seconds, from*t + slope*t^2/2 requests are due; request k is due when that reaches k.
  const slope = (to - from) / durationSeconds;
  const count = Math.floor(((from + to) / 2) * durationSeconds);
  return Array.from({ length: count }, (_, k) => {
    const root = Math.sqrt(Math.max(0, from * from + 2 * slope * k));
    const seconds = Math.abs(slope) < 1e-12 ? k / from : (root - from) / slope;
    return Math.round(seconds * 1e9);
  });
}

function requireRate(ratePerSecond: number): void {
  if (!(ratePerSecond > 0) || !Number.isFinite(ratePerSecond)) {
    throw new RangeError(`The rate is ${ratePerSecond} per second; it must be above 0.`);
  }
}
