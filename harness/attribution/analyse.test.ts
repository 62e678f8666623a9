import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { StepRecord } from '../../server/protocol/step-trace.ts';
import type { RequestTimeline } from '../client/timeline.ts';
import { analyse } from './analyse.ts';
import type { CaptureInput } from './capture.ts';
import { Folder } from './folding.ts';
import type { OnCpuProfile } from './on-cpu.ts';
import type { PhaseCapture, PhaseName } from './phases.ts';
import type { Premise } from './premise.ts';
import { ROLE_PRESETS } from './roles.ts';
import type { SchedEvent } from './sched-parser.ts';
import type { TreeSnapshot } from './schedstat.ts';
import { stackClassifier } from './symbol-classes.ts';

// A server at a step of 10 ms whose engine runs 6 ms and whose front end runs 0.5 ms of it.
const S = 1e9;
const STEP = 10e6;
const ENGINE = 11;
const FRONT = 10;

function snapshotAt(atNs: number): TreeSnapshot {
  const thread = (tid: number, comm: string, share: number) => ({
    pid: 10,
    tid,
    comm,
    startTicks: 1,
    runNs: atNs * share,
    waitNs: atNs * 0.01,
    slices: Math.floor(atNs / STEP),
  });
  return {
    atNs,
    processes: [
      { pid: 10, cpuTicks: Math.floor(atNs * 0.65e-7), startTicks: 1, commandLine: 'server' },
    ],
    threads: [thread(FRONT, 'frontend', 0.05), thread(ENGINE, 'engine-core', 0.6)],
  };
}
function phase(name: PhaseName, from: number, seconds: number): PhaseCapture {
  const host = (atNs: number) => ({
    atNs,
    psiSomeUs: atNs / 1e6,
    busyTicks: (atNs / S) * 70,
    stealTicks: 0,
    cpus: 2,
  });
  return {
    name,
    fromNs: from * S,
    toNs: (from + seconds) * S,
    snapshots: Array.from({ length: seconds + 1 }, (_, i) => snapshotAt((from + i) * S)),
    hostBefore: host(from * S),
    hostAfter: host((from + seconds) * S),
    ownCpuNs: 0.05 * seconds * S,
  };
}
const step = (id: number): StepRecord => {
  const beginNs = id * STEP;
  return {
    step: id,
    prefillTokens: 0,
    decodeTokens: 2,
    sequences: 2,
    waiting: 0,
    kvBlocksFree: 9,
    preempted: 0,
    sleptNs: 0,
    beginNs,
    scheduledNs: beginNs + 0.1e6,
    forwardNs: beginNs + 9e6,
    sampledNs: beginNs + 9.5e6,
    postedNs: beginNs + 9.8e6,
    receivedNs: beginNs + 9.9e6,
    detokenisedNs: beginNs + 10.2e6,
    writtenNs: beginNs + 10.5e6,
  };
};
const steps = Array.from({ length: 2_000 }, (_, i) => step(i));
function stream(first: number, tokens: number): RequestTimeline {
  const contentNs = Array.from(
    { length: tokens },
    (_, i) => (steps[first + i]?.writtenNs ?? 0) + 0.1e6,
  );
  return {
    index: first,
    slot: 0,
    phase: 'measured',
    intendedNs: 0,
    sentNs: 0,
    contentNs,
    outputTokens: tokens,
    text: '',
    bytesReceived: 1,
    reconnects: 0,
  };
}
const timelines = Array.from({ length: 28 }, (_, i) => stream(i * 70, 64));

function profile(): OnCpuProfile {
  const folder = new Folder(stackClassifier());
  const add = (tid: number, symbol: string, count: number) => {
    for (let i = 0; i < count; i++)
      folder.add({
        pid: 10,
        tid,
        cpu: 0,
        timeNs: 5 * S + i,
        period: 1_001_001,
        event: 'cpu-clock',
        frames: [{ ip: '1', symbol, dso: '/bin/server', deleted: false, inlined: false }],
      });
  };
  add(ENGINE, 'gemm', 2_300);
  add(FRONT, 'JS:*stringify sse-writer.js:1:1', 120);
  add(FRONT, 'JS:*detokenise detokenise.js:1:1', 40);
  return {
    folded: folder.result(),
    counts: { samples: 2_460, badLines: 0, firstBad: [] },
    events: [{ name: 'cpu-clock', userOnly: false, hardware: false }],
    lost: 0,
    outside: 0,
    stderr: '',
  };
}
/** The front end is woken by the engine 20 us after each post, runs until written; the engine sleeps 0.2 ms a step. */
function events(): SchedEvent[] {
  const list: SchedEvent[] = [];
  const move = (kind: 'in' | 'out', tid: number, timeNs: number): SchedEvent => ({
    kind,
    tid,
    timeNs,
    preempted: false,
  });
  const waking = (waker: number, wakee: number, timeNs: number): SchedEvent => ({
    kind: 'waking',
    timeNs,
    cpu: 0,
    waker,
    wakee,
  });
  for (const { postedNs, writtenNs = 0, beginNs } of steps.slice(880, 1_220)) {
    list.push(
      waking(ENGINE, FRONT, postedNs + 20e3),
      move('in', FRONT, postedNs + 50e3),
      move('out', FRONT, writtenNs),
    );
    list.push(move('in', ENGINE, beginNs - 0.1e6), move('out', ENGINE, postedNs));
    list.push(waking(0, ENGINE, beginNs - 0.12e6));
  }
  return list.sort((a, b) => a.timeNs - b.timeNs);
}

const premises: Premise[] = [
  {
    statement: 'The front end costs 0.4 ms',
    type: 'costs-at-least',
    subject: 'frontend',
    value: 0.4,
    unit: 'ms/step',
  },
  {
    statement: 'The front end costs 2 ms',
    type: 'costs-at-least',
    subject: 'frontend',
    value: 2,
    unit: 'ms/step',
  },
  {
    statement: 'Closing the front end gains 0.5 ms',
    type: 'closing-gains',
    subject: 'frontend',
    value: 0.5,
    unit: 'ms/step',
  },
  {
    statement: 'Detokenising costs 1 ms',
    type: 'costs-at-least',
    subject: 'frontend/detokenise',
    value: 1,
    unit: 'ms/step',
  },
  { statement: 'The residual is the front end', type: 'dominates-gap', subject: 'residual' },
];

function capture(over: Partial<CaptureInput> = {}): CaptureInput {
  const phases = [
    phase('free', 1, 4),
    phase('on-cpu', 5, 4),
    phase('scheduler', 9, 3),
    phase('free again', 12, 4),
  ];
  return {
    captures: {
      phases,
      pids: [10],
      apparatus: [],
      onCpu: {
        result: { file: '', bytes: 1, stderr: '', exitCode: 0, lostChunks: 0 },
        enabled: { sentNs: 5 * S, ackedNs: 5 * S },
        disabled: { sentNs: 9 * S, ackedNs: 9 * S },
        before: snapshotAt(5 * S),
        after: snapshotAt(9 * S),
        frequency: 999,
      },
    },
    profile: profile(),
    trace: {
      events: events(),
      source: 'records',
      badLines: 0,
      lost: 0,
      systemWide: true,
      bracket: { inside: 20, total: 20 },
    },
    steps,
    timelines,
    originNs: 0,
    rules: ROLE_PRESETS.mxbench,
    declared: new Map(),
    ticksPerSecond: 100,
    kernelNames: true,
    premises,
    ...over,
  };
}

const near = (actual: number | undefined, expected: number, by: number) =>
  assert.ok(
    Math.abs((actual ?? Number.NaN) - expected) <= by,
    `${actual} is not ${expected} +- ${by}`,
  );

test('a capture becomes exact cost, agreement, waterfall, waiting and verdicts', () => {
  const found = analyse(capture());
  near(found.stepMs, 10, 0.02);
  const cost = (role: string) => found.busy.find((one) => one.role === role)?.msPerStep;
  near(cost('engine-core'), 6, 0.01);
  near(cost('frontend'), 0.5, 0.001);
  near(found.profiles.find((one) => one.role === 'engine-core')?.kappa, 0.959, 0.001);
  near(found.waterfall?.tpot.measuredMs, 10, 1e-6);
  assert.ok((found.waterfall?.tpot.explainedShare ?? 0) > 0.999);
  assert.equal(found.waterfall?.missing, 0);
  const handOff = found.waiting?.stages.find((one) => one.stage === 'hand-off');
  near(handOff?.states.asleep.meanUs, 20, 0.01);
  near(handOff?.states.woken.meanUs, 30, 0.01);
  near(handOff?.states.running.meanUs, 50, 0.01);
  assert.equal(found.waiting?.closureUs, 0);
  assert.deepEqual(
    found.gates.filter((gate) => gate.status === 'failed'),
    [],
  );
  assert.deepEqual(
    found.judgements.map((one) => one.verdict),
    ['CONFIRMED', 'REFUTED', 'REFUTED', 'REFUTED', 'INCONCLUSIVE'],
  );
});

test('without perf the busy time, the waterfall and the premises on cost still work', () => {
  const { profile: _, trace: __, ...plain } = capture();
  const phases = plain.captures.phases.filter((one) => one.name.startsWith('free'));
  const found = analyse({ ...plain, captures: { phases, pids: [10], apparatus: [] } });
  assert.equal(found.profiles.length, 0);
  assert.equal(found.waiting, undefined);
  assert.deepEqual(
    found.judgements.map((one) => one.verdict),
    ['CONFIRMED', 'REFUTED', 'INCONCLUSIVE', 'INCONCLUSIVE', 'INCONCLUSIVE'],
  );
});

test('without a step trace, steps are counted from the streams and said to be so', () => {
  const { steps: _, ...plain } = capture();
  const found = analyse(plain);
  assert.equal(found.waterfall, undefined);
  assert.equal(found.phases[0]?.stepsFrom, 'streams');
  near(found.phases[0]?.steps, 365, 12);
});

test('an empty profile of threads that ran is VOID, not idle', () => {
  const input = capture();
  const empty = new Folder(stackClassifier()).result();
  const found = analyse({ ...input, profile: { ...profile(), folded: empty } });
  assert.deepEqual(new Set(found.judgements.map((one) => one.verdict)), new Set(['VOID']));
  assert.ok(
    found.gates.some((gate) => gate.name === 'profile not empty' && gate.status === 'failed'),
  );
});

test('CPU in no role above one percent is VOID', () => {
  const found = analyse(capture({ rules: [{ role: 'engine-core', name: '^engine' }] }));
  assert.ok(found.gates.some((gate) => gate.name === 'roles mapped' && gate.status === 'failed'));
});

test('a fast front end that the engine never waits for gains nothing, however it is premised', () => {
  const judged = analyse(capture()).judgements[2];
  assert.match(judged?.reason ?? '', /the engine waits for it \[0\.00, /);
});
