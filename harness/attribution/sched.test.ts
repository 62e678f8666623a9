import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { stageStates } from './hand-off.ts';
import { type SchedEvent, SchedParser } from './sched-parser.ts';
import { looksPerTask } from './sched-record.ts';
import { covered, partition, TimelineBuilder } from './sched-states.ts';
import { WakeCollector } from './wakes.ts';

const fixture = (name: string) =>
  readFileSync(new URL(`../../../harness/attribution/fixtures/${name}`, import.meta.url));

function parse(text: string | Buffer) {
  const events: SchedEvent[] = [];
  const parser = new SchedParser((event) => events.push(event));
  parser.push(Buffer.from(text));
  return { events, counts: parser.end() };
}
const recorded = fixture('known-duty.sched.txt');
const out = (timeNs: number, prev: number, prevState: string, next = 0, cpu = 0): SchedEvent => ({
  kind: 'switch',
  timeNs,
  cpu,
  prev,
  prevComm: `t${prev}`,
  prevState,
  next,
  nextComm: `t${next}`,
});
const into = (timeNs: number, next: number, prev = 0, cpu = 0): SchedEvent =>
  out(timeNs, prev, prev === 0 ? 'R' : 'S', next, cpu);
const waking = (timeNs: number, waker: number, wakee: number): SchedEvent => ({
  kind: 'waking',
  timeNs,
  cpu: 0,
  waker,
  wakee,
});
function timelines(events: SchedEvent[], ...tids: number[]) {
  const builder = new TimelineBuilder(tids);
  for (const event of events) builder.add(event);
  return builder.timelines();
}
function timeline(events: SchedEvent[], tid = 7) {
  const found = timelines(events, tid).get(tid);
  assert.ok(found);
  return found;
}

test('every recorded scheduler event is understood, with names that hold anything', () => {
  const { events, counts } = parse(recorded);
  assert.equal(counts.badLines, 0);
  assert.equal(events.length, 200);
  const names = new Set(
    events.flatMap((e) => (e.kind === 'switch' ? [e.prevComm, e.nextComm] : [])),
  );
  for (const name of ['engine core', 'HTTP front end', 'a/b c: (x)', '[eng core] 0:1'])
    assert.ok(names.has(name), name);
});

test('a name with an arrow, a field or a newline in it does not shift the fields', () => {
  const { events, counts } = parse(
    '1/2 [000] 5.000000001: sched:sched_switch: prev_comm=a ==> next_comm=b prev_pid=2 prev_prio=120 prev_state=R+ ==> next_comm=x\ny next_pid=1 next_pid=9 next_prio=120\n' +
      '  0/0 [001] 5.000000002: sched:sched_waking: comm=z pid=4 pid=2 prio=120 target_cpu=000\n',
  );
  assert.equal(counts.badLines, 0);
  assert.deepEqual(
    events.map((e) =>
      e.kind === 'switch'
        ? [e.prev, e.prevState, e.next]
        : e.kind === 'waking'
          ? [e.waker, e.wakee]
          : [],
    ),
    [
      [2, 'R+', 9],
      [0, 2],
    ],
  );
});

test('times without nanoseconds are refused, since they make ties', () => {
  assert.throws(
    () => parse('1/2 [000] 5.000001: sched:sched_waking: comm=z pid=2 prio=1 target_cpu=0\n'),
    /microseconds/,
  );
});

test('the four states of an interval close exactly', () => {
  const one = timeline([
    out(100, 7, 'S'),
    waking(200, 3, 7),
    into(250, 7),
    out(300, 7, 'R+', 4),
    into(340, 7),
    out(400, 7, 'D'),
  ]);
  assert.deepEqual(partition(one, 150, 390), {
    running: 100,
    woken: 50,
    preempted: 40,
    asleep: 50,
    unknown: 0,
    closureErrorNs: 0,
  });
});

test('time before the first and after the last event of a thread is unknown, not running', () => {
  const one = timeline([into(100, 7), out(200, 7, 'S')]);
  assert.equal(covered(one, 50, 150), false);
  assert.equal(covered(one, 150, 250), false);
  const parts = partition(one, 50, 250);
  assert.equal(parts.running, 100);
  assert.equal(parts.closureErrorNs, 100);
});

test('a missing wake-up or switch shows as unknown time and fails closure', () => {
  const lost = timeline([out(100, 7, 'S'), into(250, 7), out(300, 7, 'S'), out(400, 7, 'S')]);
  assert.equal(lost.inconsistent, 2);
  assert.equal(partition(lost, 100, 250).unknown, 150);
  assert.equal(partition(lost, 100, 250).closureErrorNs, 150);
});

test('only the first wake-up counts, and one of a running or preempted thread changes nothing', () => {
  const one = timeline([
    into(50, 7),
    waking(60, 3, 7),
    out(100, 7, 'S'),
    waking(120, 3, 7),
    waking(150, 4, 7),
    into(200, 7),
    out(210, 7, 'R'),
    waking(220, 3, 7),
    into(230, 7),
    out(240, 7, 'S'),
  ]);
  const parts = partition(one, 50, 240);
  assert.deepEqual([parts.running, parts.asleep, parts.woken, parts.preempted], [70, 20, 80, 20]);
  assert.equal(one.inconsistent, 0);
});

test('a thread that moves between CPUs keeps one timeline', () => {
  const one = timeline([
    into(10, 7, 0, 0),
    out(20, 7, 'S', 0, 0),
    waking(30, 0, 7),
    into(40, 7, 0, 1),
    out(50, 7, 'S', 0, 1),
  ]);
  assert.equal(partition(one, 10, 50).closureErrorNs, 0);
});

test('time that runs backwards is dropped and counted', () => {
  const one = timeline([into(100, 7), out(90, 7, 'S'), out(200, 7, 'S')]);
  assert.equal(one.impossible, 1);
});

test('the idle task has no timeline', () => {
  assert.equal(timelines([into(1, 0)], 0).size, 0);
});

test('the recorded trace closes to zero for every thread', () => {
  const { events } = parse(recorded);
  const tids = new Set(events.flatMap((e) => (e.kind === 'waking' ? [e.wakee] : [])));
  for (const one of timelines(events, ...tids).values()) {
    assert.equal(one.inconsistent, 0);
    const first = one.segments[0];
    const last = one.segments.at(-1);
    if (!first || !last) continue;
    assert.equal(partition(one, first.fromNs, last.toNs).closureErrorNs, 0);
  }
});

function collect(events: SchedEvent[]) {
  const roles = new Map([
    [1, 'engine-core'],
    [2, 'frontend'],
  ]);
  const wakes = new WakeCollector({
    roleOf: (tid) => roles.get(tid),
    ours: (tid) => roles.has(tid),
  });
  for (const event of events) wakes.add(event);
  return wakes;
}

test('a hop lasts from the first wake-up to running, and a stranger on the CPU is host noise', () => {
  const wakes = collect([
    out(0, 2, 'S'),
    waking(1_000, 1, 2),
    waking(1_500, 1, 2),
    into(3_000, 2, 99),
    out(4_000, 2, 'S'),
    waking(5_000, 1, 2),
    into(6_000, 2),
  ]);
  const hop = wakes.hops()[0];
  assert.deepEqual(
    [hop?.from, hop?.to, hop?.count, hop?.meanUs],
    ['engine-core', 'frontend', 2, 1.5],
  );
  assert.equal(hop?.ownMeanUs, 0.5);
  assert.deepEqual(hop?.meanwhile, [{ comm: 't99', ns: 2_000 }]);
  assert.ok(Math.abs(wakes.foreignShare() - 2 / 3) < 1e-12);
});

test('wakers outside the server are interrupts, and loop membership is who ends the engine sleep', () => {
  const wakes = collect([
    out(0, 1, 'S'),
    waking(100, 555, 1),
    into(110, 1),
    out(200, 1, 'S'),
    waking(230, 2, 1),
    into(240, 1),
  ]);
  assert.deepEqual(wakes.sleepEnds('engine-core'), [
    { waker: 'irq', count: 1, sleptNs: 100 },
    { waker: 'frontend', count: 1, sleptNs: 30 },
  ]);
});

test('stages are split by the thread that is responsible, and those outside the trace are left out', () => {
  const events = [
    out(0, 2, 'S'),
    waking(1_000, 1, 2),
    into(3_000, 2),
    out(9_000, 2, 'S'),
    waking(20_000, 1, 2),
    into(21_000, 2),
  ];
  const stages = [
    { stage: 'hand-off', tid: 2, fromNs: 500, toNs: 4_000 },
    { stage: 'hand-off', tid: 2, fromNs: 50_000, toNs: 60_000 },
  ];
  const [summary] = stageStates(stages, timelines(events, 2));
  assert.equal(summary?.steps, 1);
  assert.equal(summary?.uncovered, 1);
  assert.equal(summary?.states.asleep.meanUs, 0.5);
  assert.equal(summary?.states.woken.meanUs, 2);
  assert.equal(summary?.states.running.meanUs, 1);
  assert.equal(summary?.worstClosureUs, 0);
});

test('where tracepoints of idle CPUs are never emitted, switch records still close to zero', () => {
  const traced = parse(fixture('idle-blind.sched.txt')).events;
  const records = parse(fixture('idle-blind.switches.txt'));
  assert.equal(records.counts.badLines, 0);
  const tids = new Set(records.events.flatMap((e) => (e.kind === 'in' ? [e.tid] : [])));
  const blind = [...timelines(traced, ...tids).values()];
  assert.ok(
    blind.some((one) => one.inconsistent > 0),
    'the tracepoints alone are incomplete',
  );
  const builder = new TimelineBuilder(tids, 'records');
  for (const event of [...traced, ...records.events].sort((a, b) => a.timeNs - b.timeNs))
    builder.add(event);
  let unseen = 0;
  for (const one of builder.timelines().values()) {
    assert.equal(one.inconsistent, 0);
    unseen += one.unseenWakes;
    const [first, last] = [one.segments[0], one.segments.at(-1)];
    if (first && last) assert.equal(partition(one, first.fromNs, last.toNs).closureErrorNs, 0);
  }
  assert.ok(unseen > 0, 'sleeps that ended on an idle CPU are counted as such');
});

test('a wake-up between the decision to sleep and the switch belongs to that sleep', () => {
  const one = timeline([
    into(0, 7),
    waking(95, 3, 7),
    out(100, 7, 'S'),
    into(130, 7),
    out(200, 7, 'S'),
  ]);
  assert.equal(one.inconsistent, 0);
  assert.equal(partition(one, 0, 200).woken, 30);
});

test('a per-task trace is told from a system-wide one, since its latencies are wrong', () => {
  const { events } = parse(recorded);
  const ours = new Set(events.flatMap((e) => (e.kind === 'waking' ? [e.wakee] : [])));
  assert.equal(looksPerTask(events, ours), false);
  const perTask = events.filter((e) =>
    e.kind === 'switch' ? ours.has(e.prev) : e.kind === 'waking' && ours.has(e.waker),
  );
  assert.equal(looksPerTask(perTask, ours), true);
  const broken = [...timelines(perTask, ...ours).values()];
  assert.ok(
    broken.some((one) => one.inconsistent > 0),
    'and its states do not close',
  );
});
