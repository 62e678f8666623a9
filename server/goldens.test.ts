import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { parseFlags } from './config.ts';
import { type RunningServer, startServer } from './serve.ts';
import { type Answer, post } from './testing/http-client.ts';

const goldenSchema = z.object({
  prompts: z.array(
    z.object({
      promptIds: z.array(z.int()),
      greedyIds: z.array(z.int()),
      top2Margin: z.array(z.number()),
      firstTop16Ids: z.array(z.int()),
      firstTop16Logprobs: z.array(z.number()),
      sumPromptLogprob: z.number(),
    }),
  ),
});
type Golden = z.infer<typeof goldenSchema>['prompts'][number];

const PATH = '/v1/completions';
/** Below this margin of the two likeliest tokens, 8-bit activations may choose the other one. */
const NEAR_TIE = 0.15;

function modelFolder(name: string): string {
  return fileURLToPath(new URL(`../../models/${name}`, import.meta.url));
}

function goldensOf(name: string): Golden[] {
  return goldenSchema.parse(JSON.parse(readFileSync(`${modelFolder(name)}/goldens.json`, 'utf8')))
    .prompts;
}

async function greedy(
  server: RunningServer,
  { promptIds }: Golden,
  more: object = {},
): Promise<Answer> {
  const body = {
    prompt: promptIds,
    max_tokens: 128,
    temperature: 0,
    ignore_eos: true,
    return_token_ids: true,
    ...more,
  };
  const answer = await post(server, PATH, body);
  assert.equal(answer.status, 200, answer.text);
  return answer;
}

const idsOf = (answer: Answer): number[] => answer.json.choices[0].token_ids;

function start(model: string, more: object): Promise<RunningServer> {
  return startServer(
    parseFlags({
      model: modelFolder(model),
      port: '0',
      threads: '2',
      maxModelLen: '2048',
      ...more,
    }),
  );
}

for (const model of ['tiny-qwen3', 'tiny-llama']) {
  const goldens = goldensOf(model);

  describe(`${model} with f32 activations`, () => {
    let server: RunningServer;
    before(async () => {
      server = await start(model, { activations: 'f32', enablePrefixCaching: true });
    });
    after(() => server.stop(0));

    test('all 12 prompts give 128 of 128 golden tokens one at a time, with the golden log-probabilities', async () => {
      assert.equal(goldens.length, 12);
      for (const golden of goldens) {
        const more = { logprobs: 16, return_tokens_as_token_ids: true, cache_salt: 'alone' };
        const answer = await greedy(server, golden, more);
        assert.deepEqual(idsOf(answer), golden.greedyIds);
        const [top] = answer.json.choices[0].logprobs.top_logprobs;
        golden.firstTop16Ids.forEach((id, rank) => {
          const expected = golden.firstTop16Logprobs[rank] ?? 0;
          assert.ok(Math.abs(top[`token_id:${id}`] - expected) < 1e-3, `token ${id}`);
        });
      }
    });

    test('they give the same beside each other, beside sampled load, and from the prefix cache', async () => {
      const load = (seed: number) =>
        post(server, PATH, {
          prompt: [seed, 2, 3],
          max_tokens: 60,
          temperature: 1,
          seed,
          ignore_eos: true,
        });
      for (const [round, cached] of [0, 16].entries()) {
        const [answers] = await Promise.all([
          Promise.all(goldens.map((golden) => greedy(server, golden, { cache_salt: 'together' }))),
          ...(round === 0 ? Array.from({ length: 8 }, (_, seed) => load(seed)) : []),
        ]);
        assert.deepEqual(
          answers.map(idsOf),
          goldens.map(({ greedyIds }) => greedyIds),
        );
        const long = answers.at(-1)?.json.usage.prompt_tokens_details.cached_tokens;
        assert.ok(long >= cached, `${long} tokens came from the cache`);
      }
    });

    test('they give the same while other requests are aborted, and top_k 1 gives the same as greedy', async () => {
      const aborted = (seed: number): Promise<unknown> => {
        const body = JSON.stringify({ prompt: [seed, 9, 9], max_tokens: 200, ignore_eos: true });
        const headers = { 'content-type': 'application/json' };
        const signal = AbortSignal.timeout(20 + 30 * seed);
        return fetch(server.url + PATH, { method: 'POST', headers, body, signal }).catch(
          () => undefined,
        );
      };
      const single = { temperature: 1, top_k: 1, cache_salt: 'aborts' };
      const [answers] = await Promise.all([
        Promise.all(goldens.map((golden) => greedy(server, golden, single))),
        ...Array.from({ length: 12 }, (_, seed) => aborted(seed)),
      ]);
      assert.deepEqual(
        answers.map(idsOf),
        goldens.map(({ greedyIds }) => greedyIds),
      );
    });

    test('a seed draws the same alone and in a batch', async () => {
      const [first] = goldens;
      assert.ok(first);
      const sampled = { temperature: 1, top_p: 0.95, seed: 7, max_tokens: 60 };
      const alone = idsOf(await greedy(server, first, sampled));
      const together = await Promise.all(goldens.map((golden) => greedy(server, golden, sampled)));
      assert.deepEqual(together.map(idsOf)[0], alone);
      assert.notDeepEqual(idsOf(await greedy(server, first, { ...sampled, seed: 8 })), alone);
    });

    test('the scored prompts have the golden log-probability', async () => {
      for (const golden of goldens.slice(0, 10)) {
        const { json } = await greedy(server, golden, { max_tokens: 1, prompt_logprobs: 0 });
        const entries: Record<string, { logprob: number }>[] =
          json.choices[0].prompt_logprobs.slice(1);
        const sum = entries.reduce(
          (total, entry, index) => total + (entry[golden.promptIds[index + 1] ?? 0]?.logprob ?? 0),
          0,
        );
        const tolerance = 1e-3 * Math.max(1, golden.promptIds.length);
        assert.ok(
          Math.abs(sum - golden.sumPromptLogprob) < tolerance,
          `${sum} for ${golden.sumPromptLogprob}`,
        );
      }
    });
  });

  test(`${model} in f32 gives the golden tokens while sequences are preempted`, async () => {
    const server = await start(model, {
      activations: 'f32',
      maxModelLen: '512',
      kvMemory: model === 'tiny-qwen3' ? '6MiB' : '4MiB',
    });
    try {
      const short = goldens.filter(({ promptIds }) => promptIds.length < 300);
      const answers = await Promise.all(short.map((golden) => greedy(server, golden)));
      assert.deepEqual(
        answers.map(idsOf),
        short.map(({ greedyIds }) => greedyIds),
      );
      assert.ok(server.engine.stats().preemptions > 0, 'the pool was too small for all');
    } finally {
      await server.stop(0);
    }
  });

  describe(`${model} with int8 activations`, () => {
    let server: RunningServer;
    before(async () => {
      server = await start(model, { activations: 'int8' });
    });
    after(() => server.stop(0));

    test('greedy tokens leave the golden ones only at a near-tie', async () => {
      for (const golden of goldens) {
        const ids = idsOf(await greedy(server, golden));
        const at = ids.findIndex((id, index) => id !== golden.greedyIds[index]);
        if (at >= 0)
          assert.ok((golden.top2Margin[at] ?? 1) < NEAR_TIE, `margin ${golden.top2Margin[at]}`);
      }
    });

    test('with the golden text given, at least 97 % of positions agree', async () => {
      let agreed = 0;
      let positions = 0;
      for (const { promptIds, greedyIds } of goldens) {
        const prompt = [...promptIds, ...greedyIds];
        const { json } = await post(server, PATH, {
          prompt,
          max_tokens: 1,
          prompt_logprobs: 1,
          temperature: 0,
        });
        const entries: Record<string, { rank: number }>[] = json.choices[0].prompt_logprobs;
        greedyIds.forEach((id, index) => {
          positions += 1;
          if (entries[promptIds.length + index]?.[id]?.rank === 1) agreed += 1;
        });
      }
      assert.ok(agreed >= 0.97 * positions, `${agreed} of ${positions}`);
    });
  });
}
