import assert from 'node:assert/strict';
import { test } from 'node:test';
import { get, post, readEvents } from '../testing/http-client.ts';
import {
  eventually,
  isIdle,
  startTestApp,
  type TestApp,
  type TestAppOptions,
} from '../testing/test-app.ts';

const PATH = '/v1/completions';
const greedy = { temperature: 0, ignore_eos: true };

async function withApp(
  options: TestAppOptions,
  body: (app: TestApp) => Promise<void>,
): Promise<void> {
  const app = await startTestApp(options);
  try {
    await body(app);
    await eventually(() => isIdle(app), 'every block is free');
  } finally {
    await app.close();
  }
}

const textOf = (answer: { json: { choices: { text: string }[] } }): string =>
  answer.json.choices[0]?.text ?? '';

test('a prefix hit is reported, bounded by whole blocks, and changes no token', async () => {
  await withApp({ scheduler: { prefixCaching: true } }, async (app) => {
    const prompt = Array.from({ length: 64 }, (_, index) => index);
    const body = { ...greedy, prompt, max_tokens: 20 };
    const cold = await post(app, PATH, body);
    const warm = await post(app, PATH, body);
    assert.equal(cold.json.usage.prompt_tokens_details.cached_tokens, 0);
    // The last token is always computed for its logits, so the fourth block is computed again.
    assert.equal(warm.json.usage.prompt_tokens_details.cached_tokens, 48);
    assert.equal(textOf(warm), textOf(cold));
    const longer = await post(app, PATH, { ...body, prompt: [...prompt, 1] });
    assert.equal(longer.json.usage.prompt_tokens_details.cached_tokens, 64);
    const salted = await post(app, PATH, { ...body, cache_salt: 'other' });
    assert.equal(salted.json.usage.prompt_tokens_details.cached_tokens, 0);
    assert.equal(textOf(salted), textOf(cold));
    const several = await post(app, PATH, { ...body, prompt: [prompt, prompt], n: 2 });
    assert.equal(several.json.usage.prompt_tokens_details.cached_tokens, 96);
    await eventually(() => isIdle(app), 'nothing runs');
    assert.equal((await post(app, '/reset_prefix_cache', {})).status, 200);
    const reset = await post(app, PATH, body);
    assert.equal(reset.json.usage.prompt_tokens_details.cached_tokens, 0);
  });
});

test('the prefix cache is not reset while a request runs', async () => {
  await withApp({ stepMs: 5, scheduler: { prefixCaching: true } }, async (app) => {
    const running = post(app, PATH, { ...greedy, prompt: 'a', max_tokens: 50 });
    await eventually(() => app.engine.stats().running === 1, 'it runs');
    assert.equal((await post(app, '/reset_prefix_cache', {})).status, 400);
    assert.equal((await running).status, 200);
  });
});

test('preempted sequences end with the tokens that they draw alone', async () => {
  const prompt = Array.from({ length: 12 }, (_, index) =>
    Array.from({ length: 40 }, (_, at) => (at * 7 + index) % 250),
  );
  const body = { ...greedy, prompt, max_tokens: 120 };
  const texts = (answer: Awaited<ReturnType<typeof post>>): string[] =>
    answer.json.choices.map(({ text }: { text: string }) => text);
  let alone: string[] = [];
  await withApp({ scheduler: { maxSequences: 1, maxLogitRows: 1 } }, async (app) => {
    alone = texts(await post(app, PATH, body));
  });
  for (const prefixCaching of [false, true]) {
    await withApp({ scheduler: { blockCount: 34, prefixCaching } }, async (app) => {
      assert.deepEqual(texts(await post(app, PATH, body)), alone);
      assert.ok(app.engine.stats().preemptions > 0, 'the pool was too small for all');
    });
  }
});

test('under the priority policy the lower number is served first', async () => {
  const scheduler = { policy: 'priority' as const, maxSequences: 1, maxLogitRows: 1 };
  await withApp({ stepMs: 2, scheduler }, async (app) => {
    const ended: number[] = [];
    const ask = async (priority: number): Promise<void> => {
      await post(app, PATH, { ...greedy, prompt: 'p', max_tokens: 20, priority });
      ended.push(priority);
    };
    const all = [ask(0)];
    await eventually(() => app.engine.stats().running === 1, 'the first one runs');
    all.push(ask(5), ask(9), ask(-3));
    await eventually(() => app.engine.stats().waiting === 3, 'three wait');
    await Promise.all(all);
    assert.deepEqual(ended, [0, -3, 5, 9]);
  });
});

test('a long prompt does not keep a short one from its tokens', async () => {
  await withApp({ stepMs: 2, scheduler: { maxTokensPerStep: 16 } }, async (app) => {
    const short = post(app, PATH, { ...greedy, prompt: 'p', max_tokens: 10 });
    const long = post(app, PATH, { ...greedy, prompt: Array(500).fill(1), max_tokens: 1 });
    const first = await Promise.race([short.then(() => 'short'), long.then(() => 'long')]);
    assert.equal(first, 'short');
    await long;
  });
});

test('log-probabilities are those of the logits: sorted, normalised, with the drawn token among them', async () => {
  await withApp({}, async (app) => {
    const body = {
      ...greedy,
      prompt: 'lp',
      max_tokens: 6,
      logprobs: 3,
      return_tokens_as_token_ids: true,
      return_token_ids: true,
    };
    const { json } = await post(app, PATH, body);
    const {
      tokens,
      token_logprobs: drawn,
      top_logprobs: top,
      text_offset: offsets,
    } = json.choices[0].logprobs;
    assert.deepEqual(
      tokens,
      json.choices[0].token_ids.map((id: number) => `token_id:${id}`),
    );
    top.forEach((entries: Record<string, number>, index: number) => {
      const values = Object.values(entries);
      assert.equal(values.length, 3);
      assert.deepEqual(
        values,
        values.toSorted((a, b) => b - a),
      );
      assert.equal(entries[tokens[index]], drawn[index], 'greedy draws the likeliest');
    });
    assert.equal(offsets[0], 0);
    const all = await post(app, PATH, { ...body, logprobs: -1, max_tokens: 1 });
    const values: number[] = Object.values(all.json.choices[0].logprobs.top_logprobs[0]);
    assert.equal(values.length, app.model.vocabulary);
    const sum = values.reduce((total, value) => total + Math.exp(value), 0);
    assert.ok(Math.abs(sum - 1) < 1e-4);
    const streamed = readEvents((await post(app, PATH, { ...body, stream: true })).text);
    const joined = streamed.flatMap(({ choices }) => choices[0].logprobs.token_logprobs);
    assert.deepEqual(joined, drawn);
  });
});

test('echo with logprobs scores the prompt, null first, the same however it is chunked', async () => {
  const scores: unknown[] = [];
  for (const maxTokensPerStep of [8, 64]) {
    await withApp({ scheduler: { maxTokensPerStep, maxLogitRows: 8 } }, async (app) => {
      const body = {
        ...greedy,
        prompt: 'score this prompt',
        max_tokens: 1,
        echo: true,
        logprobs: 1,
      };
      const { json } = await post(app, PATH, body);
      const { token_logprobs: values, text_offset: offsets } = json.choices[0].logprobs;
      assert.equal(values.length, 'score this prompt'.length + 1);
      assert.equal(values[0], null);
      assert.ok(values.slice(1).every((value: number) => value <= 0));
      assert.deepEqual(offsets.slice(0, 5), [0, 1, 2, 3, 4]);
      scores.push(values);
      const none = await post(app, PATH, { ...body, max_tokens: 0 });
      assert.equal(none.json.choices[0].logprobs.tokens.length, 'score this prompt'.length);
      const map = await post(app, PATH, {
        ...greedy,
        prompt: 'abc',
        max_tokens: 1,
        prompt_logprobs: 1,
      });
      assert.equal(map.json.choices[0].prompt_logprobs.length, 3);
      assert.equal(map.json.choices[0].prompt_logprobs[0], null);
    });
  }
  assert.deepEqual(scores[0], scores[1]);
});

test('bias, allowed ids, bad words and penalties change what is drawn', async () => {
  await withApp({}, async (app) => {
    const ids = async (more: object): Promise<number[]> => {
      const body = { ...greedy, prompt: 'rules', max_tokens: 12, return_token_ids: true, ...more };
      const { json, status, text } = await post(app, PATH, body);
      assert.equal(status, 200, text);
      return json.choices[0].token_ids;
    };
    assert.ok((await ids({ logit_bias: { 65: 100 } })).every((id) => id === 65));
    assert.ok((await ids({ allowed_token_ids: [66, 67] })).every((id) => id === 66 || id === 67));
    const [first = 0] = await ids({});
    assert.notEqual((await ids({ logit_bias: { [first]: -100 } }))[0], first);
    const penalised = await ids({
      logit_bias: { 65: 3.5 },
      presence_penalty: 2,
      frequency_penalty: 2,
    });
    assert.ok(penalised.filter((id) => id === 65).length < 12);
    const repelled = await ids({ allowed_token_ids: [70, 71, 72], repetition_penalty: 1e6 });
    assert.equal(
      new Set(repelled.slice(0, 3)).size,
      3,
      'each is drawn once before any is drawn again',
    );
    const worded = await ids({ allowed_token_ids: [97, 98], bad_words: ['ab', 'ba'] });
    assert.equal(new Set(worded).size, 1, 'neither may follow the other');
  });
});

test('a temperature next to nothing draws what temperature 0 draws', async () => {
  await withApp({}, async (app) => {
    const body = { prompt: 'tie', max_tokens: 20, ignore_eos: true };
    const zero = await post(app, PATH, { ...body, temperature: 0 });
    const tiny = await post(app, PATH, { ...body, temperature: 1e-9 });
    assert.equal(textOf(tiny), textOf(zero));
  });
});

test('server_info tells the resolved configuration', async () => {
  await withApp({ settings: { shownConfig: { maxModelLen: 512 } } }, async (app) => {
    const { json } = await get(app, '/server_info');
    assert.deepEqual(json.config, { maxModelLen: 512 });
    assert.equal(json.engine.kvBlocks, 256);
  });
});
