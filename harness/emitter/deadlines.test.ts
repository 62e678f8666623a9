import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Deadlines, monotonicNs } from './deadlines.ts';

test('deadlines run in the order of their times, each once, none early', async () => {
  const deadlines = new Deadlines();
  const startNs = monotonicNs();
  const ran: number[] = [];
  const times = Array.from({ length: 200 }, (_, index) => ((index * 37) % 200) * 100_000);
  await new Promise<void>((resolve) => {
    for (const time of times) {
      deadlines.at(startNs + time, (nowNs) => {
        assert.ok(nowNs >= startNs + time);
        ran.push(time);
        if (ran.length === times.length) resolve();
      });
    }
  });
  assert.deepEqual(
    ran,
    times.toSorted((a, b) => a - b),
  );
});

test('a deadline can set the next one, and one in the past runs at once', async () => {
  const deadlines = new Deadlines();
  let count = 0;
  await new Promise<void>((resolve) => {
    const again = () => {
      count += 1;
      if (count === 1000) resolve();
      else deadlines.at(0, again);
    };
    deadlines.at(monotonicNs() - 5e9, again);
  });
  assert.equal(count, 1000);
});

test('sockets and timers have their turns between deadlines that are always due', async () => {
  const deadlines = new Deadlines();
  let running = true;
  const again = () => {
    if (running) deadlines.at(0, again);
  };
  deadlines.at(0, again);
  await new Promise((resolve) => setTimeout(resolve, 5));
  running = false;
});

test('nothing runs after clear', async () => {
  const deadlines = new Deadlines();
  let ran = false;
  deadlines.at(monotonicNs() + 2e6, () => {
    ran = true;
  });
  deadlines.clear();
  await new Promise((resolve) => setTimeout(resolve, 10));
  assert.equal(ran, false);
});
