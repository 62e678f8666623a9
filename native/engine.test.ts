// The engine against a plain double-precision model, and its promise of bit-equal logits whatever shares the step.
import assert from 'node:assert/strict';
import { appendFileSync, mkdtempSync, rmSync, statSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import {
  type ActivationName,
  createEngine,
  type EngineOptions,
  type IsaName,
  loadAddon,
  type ModelShape,
  type NativeEngine,
  NativeError,
  type TensorTypeName,
} from './index.ts';
import { oracleLogits, randomFrom, type TinyModel, writeTinyModel } from './tiny-model.ts';

const folder = mkdtempSync(join(tmpdir(), 'mxbench-engine-'));
after(() => rmSync(folder, { recursive: true }));

function shapeOf(architecture: ModelShape['architecture']): ModelShape {
  const headWidth = 32;
  return {
    architecture,
    layers: 2,
    width: 64,
    heads: 6,
    kvHeads: 2,
    headWidth,
    feedForwardWidth: 96,
    vocabulary: 77,
    normEpsilon: 1e-5,
    ropeFrequencies: Float64Array.from(
      { length: headWidth / 2 },
      (_, i) => 1e4 ** ((-2 * i) / headWidth),
    ),
    ropeAmplitude: 1,
    ropeInterleaved: architecture === 'llama',
  };
}

function modelOf(
  architecture: ModelShape['architecture'],
  linear: TensorTypeName = 'MXFP4',
  head: TensorTypeName = 'BF16',
): { path: string; model: TinyModel } {
  const path = join(folder, `${architecture}-${linear}-${head}`);
  return { path, model: writeTinyModel(path, shapeOf(architecture), linear, head, 7) };
}

interface Settings {
  activations: ActivationName;
  isa: IsaName | 'auto';
  threads: number;
}

function optionsOf(
  path: string,
  model: TinyModel,
  settings: Partial<Settings> = {},
): EngineOptions {
  return {
    weightsPath: path,
    shape: model.shape,
    tensors: model.tensors,
    activations: settings.activations ?? 'f32',
    isa: settings.isa ?? 'auto',
    threads: settings.threads ?? 2,
    kvFormat: (settings.activations ?? 'f32') === 'f32' ? 'f32' : 'bf16',
    kvBlocks: 256,
    maxTokensPerStep: 640,
    maxSequences: 16,
    maxModelLength: 640,
  };
}

interface Piece {
  /** Which sequence; each has its own 40 KV blocks. */
  sequence: number;
  tokens: readonly number[];
  position: number;
}

/** Runs one step and returns a copy of the logits of each piece's last token. */
function step(engine: NativeEngine, pieces: readonly Piece[]): Float32Array[] {
  const stride = 40;
  const tokens = pieces.flatMap((piece) => [...piece.tokens]);
  const queryStart = [0];
  for (const piece of pieces) queryStart.push((queryStart.at(-1) ?? 0) + piece.tokens.length);
  engine.forward({
    tokenCount: tokens.length,
    tokens: Int32Array.from(tokens),
    sequenceCount: pieces.length,
    queryStart: Int32Array.from(queryStart),
    firstPosition: Int32Array.from(pieces, (piece) => piece.position),
    // Blocks of a sequence are scattered, so that a mix-up of block numbers shows.
    blockTables: Int32Array.from(
      pieces.flatMap((piece) => Array.from({ length: stride }, (_, i) => i * 6 + piece.sequence)),
    ),
    blockTableStride: stride,
    logitRowCount: pieces.length,
    logitRows: Int32Array.from(queryStart.slice(1), (end) => end - 1),
  });
  return pieces.map((_, row) => engine.logits(row).slice());
}

function prompt(length: number, seed: number): number[] {
  const random = randomFrom(seed);
  return Array.from({ length }, () => Math.floor(random() * 77));
}

function withEngine<T>(options: EngineOptions, body: (engine: NativeEngine) => T): T {
  const engine = createEngine(options);
  try {
    return body(engine);
  } finally {
    engine.close();
  }
}

function largestDifference(a: Float32Array, b: Float64Array | Float32Array): number {
  return a.reduce((worst, value, i) => Math.max(worst, Math.abs(value - (b[i] ?? Number.NaN))), 0);
}

const isas = loadAddon().availableIsas();

for (const architecture of ['llama', 'qwen3'] as const) {
  for (const linear of ['MXFP4', 'Q8_0', 'BF16', 'F32'] as const) {
    test(`${architecture} with ${linear} layers gives the logits of a plain double-precision model`, () => {
      const { path, model } = modelOf(architecture, linear, linear === 'MXFP4' ? 'Q8_0' : linear);
      const tokens = prompt(37, 1);
      const expected = oracleLogits(model, tokens).at(-1) ?? new Float64Array();
      const spread = Math.max(...expected.map(Math.abs));
      for (const isa of isas) {
        const bounds = { f32: 2e-5, bf16: 0.05, int8: 0.05 } as const;
        for (const activations of ['f32', 'bf16', 'int8'] as const) {
          const [logits = new Float32Array()] = withEngine(
            optionsOf(path, model, { isa, activations }),
            (engine) => step(engine, [{ sequence: 0, tokens, position: 0 }]),
          );
          const difference = largestDifference(logits, expected) / spread;
          assert.ok(difference < bounds[activations], `${isa} ${activations}: ${difference}`);
          assert.ok(activations === 'f32' || difference > 0);
        }
      }
    });
  }
}

test('logits are the same bits alone, in a batch, in chunks, token by token, and on any thread count', () => {
  const { path, model } = modelOf('qwen3');
  const tokens = prompt(530, 2);
  const others = [1, 2, 3, 4, 5].map((sequence) => prompt(20, 10 + sequence));
  for (const isa of isas) {
    for (const activations of ['f32', 'bf16', 'int8'] as const) {
      const run = <T>(threads: number, body: (engine: NativeEngine) => T) =>
        withEngine(optionsOf(path, model, { isa, activations, threads }), body);
      const whole = run(1, (engine) => step(engine, [{ sequence: 0, tokens, position: 0 }])[0]);
      const chunked = run(3, (engine) => {
        const cuts = [0, 1, 17, 48, 255, 257, 300, 528, 529, 530];
        let logits: Float32Array | undefined;
        for (let i = 1; i < cuts.length; i++) {
          const position = cuts[i - 1] ?? 0;
          const piece = { sequence: 0, tokens: tokens.slice(position, cuts[i]), position };
          const company = others.slice(0, i % 6).map((other, b) => ({
            sequence: b + 1,
            tokens: other.slice(0, 1 + i * 2),
            position: 0,
          }));
          logits = step(engine, [...company, piece]).at(-1);
        }
        return logits;
      });
      assert.deepEqual(chunked, whole, `${isa} ${activations}`);
    }
  }
});

test('greedy takes the smallest id of equal logits, and a seeded draw does not depend on its row', () => {
  const { path, model } = modelOf('llama');
  withEngine(optionsOf(path, model), (engine) => {
    const pieces = [0, 1, 2].map((sequence) => ({ sequence, tokens: prompt(5, 3), position: 0 }));
    step(engine, pieces);
    engine.logits(0).fill(1);
    engine.logits(0).set([3, 3], 11);
    engine.logits(1).set(engine.logits(2));
    const tokens = new Int32Array(3);
    const sample = (
      seeds: number[],
      overrides: { topK?: number; minP?: number; draw?: number } = {},
    ) => {
      const fill = (value: number) => Float32Array.from([0, value, value]);
      engine.sample(
        {
          rowCount: 3,
          temperature: fill(1),
          topK: Int32Array.of(0, overrides.topK ?? 0, overrides.topK ?? 0),
          topP: Float32Array.of(1, 1, 1),
          minP: fill(overrides.minP ?? 0),
          seed: Uint32Array.from(seeds.flatMap((seed) => [seed, 0])),
          drawIndex: Int32Array.of(0, overrides.draw ?? 0, overrides.draw ?? 0),
        },
        tokens,
      );
      return [...tokens];
    };
    const [greedy, first, second] = sample([0, 42, 42]);
    assert.equal(greedy, 11);
    assert.equal(first, second);
    const draws = new Set(Array.from({ length: 50 }, (_, draw) => sample([0, 1, 2], { draw })[1]));
    assert.ok(draws.size > 5, `50 draws gave ${draws.size} different tokens`);
    const best = engine.logits(1).indexOf(Math.max(...engine.logits(1)));
    for (let draw = 0; draw < 20; draw++) {
      assert.equal(sample([0, 1, 2], { topK: 1, draw })[1], best);
      assert.equal(sample([0, 1, 2], { minP: 1, draw })[2], best);
    }
  });
});

test('sampled frequencies follow the softmax of the logits', () => {
  const { path, model } = modelOf('llama');
  withEngine(optionsOf(path, model), (engine) => {
    step(engine, [{ sequence: 0, tokens: [1], position: 0 }]);
    const logits = engine.logits(0).fill(Number.NEGATIVE_INFINITY);
    logits.set([Math.log(0.5), Math.log(0.3), Math.log(0.2)], 20);
    const counts = [0, 0, 0];
    const draws = 3000;
    const token = new Int32Array(1);
    for (let draw = 0; draw < draws; draw++) {
      engine.sample(
        {
          rowCount: 1,
          temperature: Float32Array.of(1),
          topK: Int32Array.of(0),
          topP: Float32Array.of(1),
          minP: Float32Array.of(0),
          seed: Uint32Array.of(9, 9),
          drawIndex: Int32Array.of(draw),
        },
        token,
      );
      const at = (token[0] ?? 0) - 20;
      counts[at] = (counts[at] ?? 0) + 1;
    }
    // Four standard deviations of a binomial share.
    for (const [i, share] of [0.5, 0.3, 0.2].entries()) {
      const deviation = Math.abs((counts[i] ?? 0) / draws - share);
      assert.ok(deviation < 4 * Math.sqrt((share * (1 - share)) / draws), `${counts}`);
    }
  });
});

test('a logit row without a finite maximum is sampled as -1', () => {
  const { path, model } = modelOf('llama');
  withEngine(optionsOf(path, model), (engine) => {
    step(engine, [{ sequence: 0, tokens: [1], position: 0 }]);
    engine.logits(0).fill(Number.NaN);
    const one = { float: Float32Array.of(0), int: Int32Array.of(0) };
    const token = new Int32Array(1);
    engine.sample(
      {
        rowCount: 1,
        temperature: one.float,
        topK: one.int,
        topP: Float32Array.of(1),
        minP: one.float,
        seed: new Uint32Array(2),
        drawIndex: one.int,
      },
      token,
    );
    assert.equal(token[0], -1);
  });
});

test('a step that would leave its bounds is refused with the value, and the engine goes on', () => {
  const { path, model } = modelOf('qwen3');
  withEngine(optionsOf(path, model), (engine) => {
    const good = { sequence: 0, tokens: [1, 2, 3], position: 0 };
    const before = step(engine, [good]);
    const cases: [Piece, RegExp][] = [
      [{ ...good, tokens: [77] }, /token id is out of range: 77/],
      [{ ...good, tokens: [-1] }, /token id is out of range: -1/],
      [{ ...good, position: 640 }, /position is out of range/],
      [{ ...good, position: -1 }, /position is out of range: -1/],
      [{ ...good, sequence: 300 }, /KV block is out of range: 300/],
    ];
    for (const [piece, message] of cases) assert.throws(() => step(engine, [piece]), message);
    assert.deepEqual(step(engine, [good]), before);
  });
});

test('a model that does not hold what its sizes promise is refused with the name of the tensor', () => {
  const { path, model } = modelOf('llama', 'Q8_0', 'F32');
  const load = (options: EngineOptions) => () => createEngine(options).close();
  const options = optionsOf(path, model);
  const isBadModel = (words: RegExp) => (error: unknown) =>
    error instanceof NativeError && error.code === 'BAD_MODEL' && words.test(error.message);
  const without = model.tensors.filter(({ name }) => name !== 'blk.1.ffn_up.weight');
  assert.throws(
    load({ ...options, tensors: without }),
    isBadModel(/no tensor blk\.1\.ffn_up\.weight/),
  );
  const widened = { ...model.shape, width: 96 };
  assert.throws(
    load({ ...options, shape: widened }),
    isBadModel(/has shape \[77, 64\].*\[77, 96\]/),
  );
  truncateSync(path, 5000);
  assert.throws(load(options), isBadModel(/which the file of 5000 bytes does not hold/));
  assert.throws(
    load({ ...options, weightsPath: join(folder, 'absent') }),
    (error: unknown) => error instanceof NativeError && error.code === 'FILE',
  );
  assert.throws(
    load({ ...options, threads: 0 }),
    (error: unknown) => error instanceof NativeError && /threads is 0/.test(error.message),
  );
});

test('a NaN scale is refused with the name of its tensor', () => {
  const { path, model } = modelOf('llama', 'MXFP4', 'F32');
  const tensor = model.tensors.find(({ name }) => name === 'blk.0.ffn_down.weight');
  assert.ok(tensor);
  const shifted = model.tensors.map((entry) =>
    entry === tensor ? { ...entry, offsetBytes: nanScaleOffset(path, entry.lengthBytes) } : entry,
  );
  assert.throws(
    () => createEngine({ ...optionsOf(path, model), tensors: shifted }).close(),
    /blk\.0\.ffn_down\.weight has a block whose scale is NaN/,
  );
});

/** Appends a tensor whose every byte is 0xff and returns where it begins. */
function nanScaleOffset(path: string, lengthBytes: number): number {
  const offset = statSync(path).size;
  appendFileSync(path, Buffer.alloc(lengthBytes, 0xff));
  return offset;
}

test('views of the logits become empty when the engine closes', () => {
  const { path, model } = modelOf('qwen3');
  const engine = createEngine(optionsOf(path, model));
  step(engine, [{ sequence: 0, tokens: [1], position: 0 }]);
  const view = engine.logits(0);
  assert.equal(view.length, 77);
  engine.close();
  assert.equal(view.length, 0);
  assert.throws(() => engine.logits(0), /closed/);
});
