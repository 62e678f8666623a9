import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { counterValue, MetricsCollector, stepCounterIn, stepsBetween } from './peer-metrics.ts';

test('a counter is summed over its labels, and a longer name is another metric', () => {
  const text = [
    '# TYPE vllm:iteration_tokens_total histogram',
    'vllm:iteration_tokens_total_bucket{le="1.0"} 3.0',
    'vllm:iteration_tokens_total_count{engine="0",model_name="a b"} 120.0',
    'vllm:iteration_tokens_total_count{engine="1",model_name="a b"} 30.0',
    'vllm:iteration_tokens_total_count_created{engine="0"} 1.7e+09',
  ].join('\n');
  assert.equal(counterValue(text, 'vllm:iteration_tokens_total_count'), 150);
  assert.deepEqual(stepCounterIn('llamacpp:n_decode_total 42\n'), {
    name: 'llamacpp:n_decode_total',
    value: 42,
  });
  assert.equal(stepCounterIn('process_cpu_seconds_total 1\n'), undefined);
});

test('steps between polls are interpolated, and a restart counts nothing', () => {
  const points = [
    { atNs: 0, value: 100 },
    { atNs: 1_000, value: 200 },
    { atNs: 2_000, value: 400 },
  ];
  assert.equal(stepsBetween(points, 500, 1_500), 150);
  assert.equal(stepsBetween(points, -5, 9_000), 300);
  assert.equal(
    stepsBetween(
      [
        { atNs: 0, value: 100 },
        { atNs: 1_000, value: 3 },
      ],
      0,
      1_000,
    ),
    0,
  );
  assert.equal(stepsBetween([], 0, 1_000), 0);
});

test('the counter of a living server is polled until it is stopped, and a server without one is told', async () => {
  let value = 0;
  const server = createServer((request, response) => {
    value += 5;
    response.end(request.url === '/metrics' ? `llamacpp:n_decode_total ${value}\n` : '');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  try {
    const collector = new MetricsCollector(`http://127.0.0.1:${port}`);
    assert.equal(await collector.start(10), 'llamacpp:n_decode_total');
    await sleep(60);
    const points = await collector.stop();
    assert.ok(points.length >= 3);
    assert.equal(points.at(-1)?.value, value);
  } finally {
    server.close();
    server.closeAllConnections();
  }
  assert.equal(await new MetricsCollector(`http://127.0.0.1:${port}`).start(), undefined);
});
