// The one clock of a run: CLOCK_MONOTONIC as ns since the run's origin. A plain number holds 104 days of ns exactly.

export interface Clock {
  /** CLOCK_MONOTONIC at the origin, ns; other processes of this host can line up with it. */
  originNs: bigint;
  /** Ns since the origin, as an integer. */
  nowNs(): number;
}

/** Starts a clock whose origin is now. */
export function startClock(): Clock {
  const [originSeconds, originRest] = process.hrtime();
  return {
    originNs: BigInt(originSeconds) * 1_000_000_000n + BigInt(originRest),
    nowNs() {
      const [seconds, rest] = process.hrtime();
      return (seconds - originSeconds) * 1e9 + (rest - originRest);
    },
  };
}
