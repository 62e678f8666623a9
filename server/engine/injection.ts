// A known delay, spun once a step at one seam: how attribution proves on a running server that it sees a cost where it
// is, and whether that cost is on the path of TPOT. Off unless --inject asks for it.
import { monotonicNs } from '../monotonic-clock.ts';

export const SEAMS = ['engine', 'frontend'] as const;

export interface Injection {
  seam: (typeof SEAMS)[number];
  delayUs: number;
}

/** Burns CPU for `delayUs` microseconds; nothing for 0. */
export function spinFor(delayUs: number): void {
  if (delayUs === 0) return;
  const endNs = monotonicNs() + delayUs * 1e3;
  while (monotonicNs() < endNs);
}

/** The microseconds that `seam` spins under an injection. */
export function delayAt(seam: Injection['seam'], injection: Injection | undefined): number {
  return injection?.seam === seam ? injection.delayUs : 0;
}
