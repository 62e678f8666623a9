import assert from 'node:assert/strict';
import { test } from 'node:test';
import { countersByRole, countHardware, parseCounters } from './hardware.ts';

const line = (thread: string, event: string, value: string, running = 100) =>
  JSON.stringify({
    thread,
    'counter-value': value,
    unit: '',
    event,
    'event-runtime': 1,
    'pcnt-running': running,
    'metric-value': 0,
    'metric-unit': '',
  });

test('names with hyphens and brackets are split at the last hyphen', () => {
  const [a, b] = parseCounters(
    `${line('engine-core-6774', 'cycles', '153.0')}\n${line('[eng core] 0:1-6778', 'cycles:u', '12')}\n`,
  );
  assert.deepEqual([a?.tid, a?.value], [6774, 153]);
  assert.deepEqual([b?.tid, b?.event], [6778, 'cycles']);
});

test('what is not supported or not counted is absent, never zero', () => {
  const text = [
    line('a-1', 'cycles', '<not supported>'),
    line('a-1', 'instructions', '<not counted>'),
    'Some events were not counted',
  ].join('\n');
  assert.deepEqual(parseCounters(text), []);
});

test('ratios are by role, and multiplexed counters give none', () => {
  const readings = parseCounters(
    [
      line('a-1', 'cycles', '1000'),
      line('a-1', 'instructions', '2500'),
      line('b-2', 'cycles', '100', 40),
      line('b-2', 'instructions', '300', 40),
    ].join('\n'),
  );
  const [engine, front] = countersByRole(readings, (tid) =>
    tid === 1 ? 'engine-core' : 'frontend',
  );
  assert.equal(engine?.instructionsPerCycle, 2.5);
  assert.equal(engine?.cacheMissShare, null);
  assert.deepEqual([front?.instructionsPerCycle, front?.runningPercent], [null, 40]);
});

test('this process can be counted by thread wherever perf runs, and a missing process is no error', async () => {
  const readings = await countHardware([process.pid], 0.1, ['task-clock', 'context-switches']);
  assert.ok(readings === undefined || readings.every((one) => one.tid > 0));
  assert.equal(await countHardware([2 ** 22 + 1], 0.1, ['task-clock']), undefined);
});
