import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { get, post, rawConnection, rawPost } from '../testing/http-client.ts';
import { eventually, isIdle, startTestApp, type TestApp } from '../testing/test-app.ts';
import { lengthBuckets } from './metrics.ts';

/** The families that vLLM exposes on a stock server, as a scraper's golden list has them. */
const GOLDEN = {
  gauge:
    'cache_config_info engine_sleep_state kv_cache_usage_perc num_requests_running num_requests_waiting num_requests_waiting_by_reason',
  counter:
    'estimated_flops_per_gpu_total estimated_read_bytes_per_gpu_total estimated_write_bytes_per_gpu_total external_prefix_cache_hits_total external_prefix_cache_queries_total generation_tokens_total mm_cache_hits_total mm_cache_queries_total num_preemptions_total prefix_cache_hits_total prefix_cache_queries_total prompt_tokens_by_source_total prompt_tokens_cached_total prompt_tokens_total request_success_total',
  histogram:
    'e2e_request_latency_seconds inter_token_latency_seconds iteration_tokens_total request_decode_time_seconds request_generation_tokens request_inference_time_seconds request_max_num_generation_tokens request_params_max_tokens request_params_n request_prefill_kv_computed_tokens request_prefill_time_seconds request_prompt_tokens request_queue_time_seconds request_time_per_output_token_seconds time_to_first_token_seconds',
};

let app: TestApp;
before(async () => {
  app = await startTestApp();
});
after(async () => {
  await app.close();
});

/** Value of the first sample whose line begins so. */
function sample(text: string, start: string): number {
  const line = text.split('\n').find((each) => each.startsWith(start));
  assert.ok(line, `there is a sample ${start}`);
  return Number(line.slice(line.lastIndexOf(' ')));
}

test('all 36 families of the golden list are there with their types after one request', async () => {
  await post(app, '/v1/completions', { prompt: 'warm', max_tokens: 4, ignore_eos: true });
  const { text, headers } = await get(app, '/metrics');
  assert.match(headers.get('content-type') ?? '', /^text\/plain/);
  const found = [...text.matchAll(/^# TYPE vllm:(\S+) (\S+)$/gm)].map(
    ([, name, type]) => `${name} ${type}`,
  );
  const wanted = Object.entries(GOLDEN).flatMap(([type, names]) =>
    names.split(' ').map((name) => `${name} ${type}`),
  );
  assert.equal(wanted.length, 36);
  assert.deepEqual(found.sort(), wanted.sort());
  for (const name of wanted.map((each) => each.split(' ')[0])) {
    assert.match(
      text,
      new RegExp(`^vllm:${name}(_bucket)?\\{[^}]*engine="0"`, 'm'),
      `${name} has a sample`,
    );
  }
});

test('the token counters grow by exactly what usage reports, also where clients leave', async () => {
  const counters = async () => {
    const { text } = await get(app, '/metrics');
    return {
      prompt: sample(text, 'vllm:prompt_tokens_total'),
      generation: sample(text, 'vllm:generation_tokens_total'),
    };
  };
  const before = await counters();
  const bodies = [
    { prompt: 'one', max_tokens: 9 },
    { prompt: ['two', [1, 2, 3]], max_tokens: 5, n: 3 },
    { prompt: 'three', max_tokens: 20, stop: ['a', 'e', 'i', 'o'] },
    { prompt: 'four', max_tokens: 0, echo: true },
    { prompt: 'five', max_tokens: 8, stream: true, stream_options: { include_usage: true } },
  ];
  const answers = await Promise.all(bodies.map((body) => post(app, '/v1/completions', body)));
  const usages = answers.map(({ json, text }) => {
    return json?.usage ?? JSON.parse(text.split('\n\n').at(-3)?.slice('data: '.length) ?? '').usage;
  });
  const total = (field: string) => usages.reduce((sum, usage) => sum + usage[field], 0);
  const afterwards = await counters();
  assert.equal(afterwards.prompt - before.prompt, total('prompt_tokens'));
  assert.equal(afterwards.generation - before.generation, total('completion_tokens'));
});

test('a client that leaves counts as an abort, and the gauges return to zero', async () => {
  const { socket } = await rawConnection(app);
  socket.write(
    rawPost('/v1/completions', {
      prompt: 'x',
      max_tokens: 500,
      ignore_eos: true,
      stream: true,
      n: 64,
    }),
  );
  await eventually(() => app.engine.stats().running > 0, 'it runs');
  socket.destroy();
  await eventually(() => isIdle(app), 'nothing runs');
  const { text } = await get(app, '/metrics');
  assert.ok(
    sample(
      text,
      'vllm:request_success_total{model_name="test-model",engine="0",finished_reason="abort"',
    ) > 0,
  );
  for (const gauge of ['num_requests_running', 'num_requests_waiting', 'kv_cache_usage_perc']) {
    assert.equal(sample(text, `vllm:${gauge}{`), 0, gauge);
  }
});

test('HTTP answers are counted by route, method and status', async () => {
  await post(app, '/v1/completions', {});
  await get(app, '/nowhere');
  const { text } = await get(app, '/metrics');
  assert.ok(
    sample(text, 'http_requests_total{handler="/v1/completions",method="POST",status="400"}') > 0,
  );
  assert.ok(
    sample(text, 'http_requests_total{handler="/v1/completions",method="POST",status="200"}') > 0,
  );
  assert.ok(sample(text, 'http_requests_total{handler="none",method="GET",status="404"}') > 0);
});

test('length buckets go 1, 2, 5 up to the longest length', () => {
  assert.deepEqual(lengthBuckets(512), [1, 2, 5, 10, 20, 50, 100, 200, 500]);
});

test('the step trace has all stamps in order, and a later read continues it', async () => {
  await post(app, '/v1/completions', { prompt: 'trace', max_tokens: 6, ignore_eos: true });
  const { text, headers } = await get(app, '/debug/steps');
  assert.match(headers.get('content-type') ?? '', /ndjson/);
  const { stepRecordSchema } = await import('../protocol/step-trace.ts');
  const records = text
    .trimEnd()
    .split('\n')
    .map((line) => stepRecordSchema.parse(JSON.parse(line)));
  records.forEach((record, index) => {
    assert.equal(record.step, index);
    const { beginNs, scheduledNs, forwardNs, sampledNs, postedNs } = record;
    const stamps = [beginNs, scheduledNs, forwardNs, sampledNs, postedNs];
    const own = [record.receivedNs, record.detokenisedNs, record.writtenNs];
    assert.ok(
      own.every((stamp) => stamp !== undefined),
      'the front end stamped it',
    );
    assert.deepEqual(
      stamps,
      stamps.toSorted((a, b) => a - b),
    );
    assert.ok(
      (record.receivedNs ?? 0) >= beginNs && (record.writtenNs ?? 0) >= (record.receivedNs ?? 0),
    );
  });
  const last = records.at(-1)?.step ?? 0;
  assert.equal((await get(app, `/debug/steps?after=${last}`)).text, '');
});

test('debug endpoints do not exist unless they are enabled', async () => {
  const plain = await startTestApp({ settings: { debugEndpoints: false } });
  try {
    for (const path of ['/debug/steps', '/debug/threads', '/debug/config']) {
      assert.equal((await get(plain, path)).status, 404);
    }
    assert.equal((await post(plain, '/reset_prefix_cache', {})).status, 404);
  } finally {
    await plain.close();
  }
});
