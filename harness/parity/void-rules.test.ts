import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type LegSignals, pairVoids } from './void-rules.ts';

const QUIET: LegSignals = {
  foreignCpuShare: 0.03,
  clientCpuShare: 0.3,
  eventLoopDelayP99Ms: 0.5,
  itlP50Ms: 10,
  clientHeadroom: 8,
  failedRequests: 0,
  lengthMismatches: 0,
  cacheHitShare: 0,
  peakInFlight: 4,
  shareAtConcurrency: 0.99,
  steadySeconds: 10,
};
const LIMITS = { concurrency: 4, plannedSteadySeconds: 10, foreignCpuShare: 0.05 };

function codes(ours: Partial<LegSignals>, reference: Partial<LegSignals> = {}) {
  const legs = { ours: { ...QUIET, ...ours }, reference: { ...QUIET, ...reference } };
  return pairVoids(legs, LIMITS).map(({ code, arm }) => `${code}${arm ? `/${arm}` : ''}`);
}

test('a quiet pair has no codes', () => {
  assert.deepEqual(codes({}), []);
});

test('each signal has its threshold, and the leg on the good side of it stays', () => {
  const cases: [Partial<LegSignals>, string | null][] = [
    [{ foreignCpuShare: 0.051 }, 'contended/ours'],
    [{ foreignCpuShare: 0.05 }, null],
    [{ quietWaitExpired: true }, 'not_quiet/ours'],
    [{ throttled: true }, 'throttled/ours'],
    [{ clientCpuShare: 0.71 }, 'client_saturated/ours'],
    [{ clientCpuShare: 0.7 }, null],
    [{ eventLoopDelayP99Ms: 2.1 }, 'client_saturated/ours'],
    [{ eventLoopDelayP99Ms: 2.1, itlP50Ms: 30 }, null],
    [{ clientHeadroom: 4.9 }, 'client_saturated/ours'],
    [{ failedRequests: 1 }, 'requests_failed/ours'],
    [{ lengthMismatches: 1 }, 'length_mismatch/ours'],
    [{ peakInFlight: 3 }, 'concurrency_not_reached/ours'],
    [{ shareAtConcurrency: 0.89 }, 'concurrency_not_reached/ours'],
    [{ steadySeconds: 9.9 }, 'leg_too_short/ours'],
    [{ harnessError: 'The counter went back.' }, 'harness_error/ours'],
    [{ busyShare: 0.49 }, 'clock_unstable/ours'],
    [
      { clocksMhz: { least: 1700, median: 1800, most: 1795, busySamples: 30 } },
      'clock_unstable/ours',
    ],
    [
      { clocksMhz: { least: 1800, median: 1800, most: 1800, busySamples: 29 } },
      'clock_unstable/ours',
    ],
    [{ clocksMhz: { least: 1790, median: 1800, most: 1810, busySamples: 30 } }, null],
  ];
  for (const [signals, expected] of cases) {
    assert.deepEqual(codes(signals), expected === null ? [] : [expected], JSON.stringify(signals));
  }
});

test('what only the two legs together show: foreign share, clocks and cache hits apart', () => {
  const clock = (median: number) => ({
    clocksMhz: { least: median, median, most: median, busySamples: 40 },
  });
  assert.deepEqual(codes({ foreignCpuShare: 0.01 }, { foreignCpuShare: 0.045 }), ['contended']);
  assert.deepEqual(codes({ foreignCpuShare: 0.01 }, { foreignCpuShare: 0.04 }), []);
  assert.deepEqual(codes(clock(1800), clock(1820)), ['clock_unstable']);
  assert.deepEqual(codes(clock(1800), clock(1815)), []);
  assert.deepEqual(codes({ cacheHitShare: 0.01 }), ['cache_mismatch']);
});

test('what is not measured on a machine voids nothing', () => {
  const { foreignCpuShare: _, cacheHitShare: __, ...blind } = QUIET;
  assert.deepEqual(pairVoids({ ours: blind, reference: blind }, LIMITS), []);
});

test('the arm of a fault is named and the value told', () => {
  const legs = { ours: QUIET, reference: { ...QUIET, failedRequests: 3 } };
  assert.deepEqual(pairVoids(legs, LIMITS), [
    { code: 'requests_failed', arm: 'reference', detail: '3 requests failed.' },
  ]);
});

test('no profile may allow more foreign work than a quarter', () => {
  assert.throws(
    () => pairVoids({ ours: QUIET, reference: QUIET }, { ...LIMITS, foreignCpuShare: 0.3 }),
    /0.3; give 0 to 0.25/,
  );
});
