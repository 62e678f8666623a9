// The whole server on a free port with a fake runner behind a real engine thread, for tests through real sockets.
import type { AddressInfo } from 'node:net';
import { pino } from 'pino';
import { type EngineStart, startEngine } from '../engine/worker-client.ts';
import { Admission } from '../frontend/admission.ts';
import type { EngineClient } from '../frontend/engine-client.ts';
import { PromptEncoder } from '../frontend/prompt-encoder.ts';
import type { ServedModel } from '../frontend/served-model.ts';
import { createApp } from '../http/app.ts';
import type { HttpSettings } from '../http/context.ts';
import { Metrics } from '../http/metrics.ts';
import { byteTokenizer, EOS } from './byte-tokenizer.ts';

const tokenizerModule = new URL('./byte-tokenizer.js', import.meta.url).href;

export interface TestApp {
  url: string;
  port: number;
  engine: EngineClient;
  model: ServedModel;
  admission: Admission;
  close(): Promise<void>;
}

export interface TestAppOptions {
  scheduler?: Partial<EngineStart['scheduler']>;
  stepMs?: number;
  crashAtStep?: number;
  /** Every reply is this text, then end of sequence. */
  reply?: string;
  settings?: Partial<HttpSettings>;
  limit?: number;
  model?: Partial<ServedModel>;
}

const CONTEXT = 512;

function testModel(overrides: Partial<ServedModel> = {}): ServedModel {
  const tokenizer = byteTokenizer();
  return {
    name: 'test-model',
    names: ['test-model', 'alias'],
    path: '/models/test',
    tokenizer,
    encoder: new PromptEncoder(tokenizer, { module: tokenizerModule, argument: '' }),
    vocabulary: tokenizer.vocabularySize,
    chatTemplate: undefined,
    synthetic: true,
    quantisation: 'none',
    parameters: 1,
    fileBytes: 1,
    sha256: async () => 'none',
    created: 1,
    ...overrides,
  };
}

const SETTINGS: HttpSettings = {
  version: '0.0.0',
  apiKeys: [],
  debugEndpoints: true,
  bodyLimitBytes: 256 * 1024,
  unreadLimitBytes: 1024 * 1024,
  requestTimeoutMs: 0,
  shownConfig: {},
};

function engineStart(options: TestAppOptions, { vocabulary, tokenizer }: ServedModel): EngineStart {
  const scheduler = {
    maxTokensPerStep: 64,
    maxSequences: 8,
    maxModelLength: CONTEXT,
    maxLogitRows: 8,
    blockCount: 256,
    policy: 'fcfs' as const,
    prefixCaching: false,
    eosIds: [EOS],
    ...options.scheduler,
  };
  const fake = { vocabulary, kvBlocks: scheduler.blockCount, stepMs: options.stepMs ?? 0 };
  const { crashAtStep, reply } = options;
  const runner = {
    ...fake,
    ...(crashAtStep !== undefined && { crashAtStep }),
    ...(reply !== undefined && { script: [...tokenizer.encode(reply), EOS] }),
  };
  return { scheduler, runner: { kind: 'fake', options: runner }, onFault: () => {} };
}

/** Starts it; close() must be called at the end of the test. */
export async function startTestApp(options: TestAppOptions = {}): Promise<TestApp> {
  const model = testModel(options.model);
  const engine = await startEngine(engineStart(options, model));
  const admission = new Admission(options.limit ?? 1000);
  const app = createApp({
    engine,
    model,
    admission,
    metrics: new Metrics(model, engine),
    settings: { ...SETTINGS, ...options.settings },
    log: pino({ level: 'silent' }),
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = app.server.address() as AddressInfo;
  const close = async (): Promise<void> => {
    await engine.close();
    await model.encoder.close();
    app.server.closeAllConnections();
    await app.close();
  };
  return { url: `http://127.0.0.1:${port}`, port, engine, model, admission, close };
}

/** Waits until the condition holds; fails after two seconds. */
export async function eventually(condition: () => boolean, what: string): Promise<void> {
  const until = performance.now() + 2000;
  while (!condition()) {
    if (performance.now() > until) throw new Error(`It never came about that ${what}.`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

/** True when nothing runs, nothing waits and every KV block is free. */
export function isIdle({ engine, admission }: TestApp): boolean {
  const { running, waiting, kvBlocks, kvBlocksFree } = engine.stats();
  return running === 0 && waiting === 0 && kvBlocks === kvBlocksFree && admission.held === 0;
}
