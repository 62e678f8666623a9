// `serve`: opens the model, starts the engine, listens, and ends cleanly. Every resource that it takes is given back on
// every way out.

import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { type Logger, pino } from 'pino';
import { type ServeFlags, shownConfig } from './config.ts';
import { planMemory } from './engine/memory-plan.ts';
import { nameThread } from './engine/native-runner.ts';
import { EngineStartError, startEngine } from './engine/worker-client.ts';
import { ServerError } from './errors.ts';
import { Admission } from './frontend/admission.ts';
import type { EngineClient } from './frontend/engine-client.ts';
import { PromptEncoder } from './frontend/prompt-encoder.ts';
import type { ServedModel } from './frontend/served-model.ts';
import { createApp } from './http/app.ts';
import { Metrics } from './http/metrics.ts';
import { type LoadedModel, openModel } from './model/open-model.ts';
import { VERSION } from './version.ts';

const TOKENIZER_MODULE = new URL('./frontend/model-tokenizer.js', import.meta.url).href;

export interface RunningServer {
  /** Where it listens, such as "http://127.0.0.1:8000". */
  url: string;
  model: ServedModel;
  engine: EngineClient;
  log: Logger;
  /** Refuses newcomers, lets the others finish within the time, then stops everything. */
  stop(withinMs: number): Promise<void>;
}

/** Starts the server; resolves when it answers requests. ServerError says why it cannot. */
export async function startServer(flags: ServeFlags): Promise<RunningServer> {
  const log = pino({ level: flags.logLevel }, pino.destination({ fd: 2, sync: true }));
  const loaded = await openModel(flags.model);
  nameThread('frontend');
  const onFault = (error: unknown): void =>
    log.error({ err: error }, 'a fault ended one request or all of them');
  const started = await startNativeEngine(loaded, flags, onFault);
  const model = servedModel(loaded, flags);
  const admission = new Admission(flags.maxNumSeqs + flags.maxQueuedRequests);
  const { engine, maxModelLength } = started;
  const app = createApp({
    engine,
    model,
    admission,
    metrics: new Metrics(model, engine),
    settings: {
      version: VERSION,
      apiKeys: (flags.apiKey ?? '').split(',').filter((key) => key !== ''),
      debugEndpoints: flags.debugEndpoints,
      bodyLimitBytes: flags.bodyLimit ?? defaultBodyLimit(maxModelLength),
      unreadLimitBytes: flags.unreadLimit,
      requestTimeoutMs: flags.requestTimeout,
      shownConfig: shownConfig(flags, {
        maxModelLen: maxModelLength,
        kvBlocks: engine.info.kvBlocks,
        kvMemory: engine.info.kvBytes,
        kvFormat: engine.info.kvFormat,
        isa: engine.info.isa,
        threads: engine.info.threads,
      }),
    },
    log,
  });
  const url = await listen(app, flags, engine);
  const stop = (withinMs: number) => stopServer({ app, engine, admission, withinMs });
  return { url, model, engine, log, stop };
}

/** Room for several full contexts as text, escapes included, and for lists of prompts. */
function defaultBodyLimit(maxModelLength: number): number {
  return Math.max(4 * 2 ** 20, maxModelLength * 64);
}

/** Logit rows beyond one a sequence, for the log-probabilities of prompts; each is a vocabulary of floats. */
const PROMPT_LOGIT_ROWS = 64;

async function startNativeEngine(
  loaded: LoadedModel,
  flags: ServeFlags,
  onFault: (error: unknown) => void,
): Promise<{ engine: EngineClient; maxModelLength: number }> {
  const kvFormat = flags.kvFormat ?? (flags.activations === 'f32' ? 'f32' : 'bf16');
  const { kvBlocks, maxModelLength } = planMemory({
    shape: loaded.shape,
    kvFormat,
    maxSequences: flags.maxNumSeqs,
    contextLength: loaded.contextLength,
    maxModelLength: flags.maxModelLen,
    kvBytes: flags.kvMemory,
    // Knows the limits of containers too.
    freeBytes: process.availableMemory(),
  });
  const bounds = {
    maxTokensPerStep: Math.max(flags.maxNumBatchedTokens, flags.maxNumSeqs),
    maxSequences: flags.maxNumSeqs,
    maxModelLength,
  };
  const { weightsPath, shape, tensors, eosIds } = loaded;
  try {
    const engine = await startEngine({
      injection: flags.inject,
      onFault,
      scheduler: {
        ...bounds,
        maxLogitRows: Math.min(bounds.maxTokensPerStep, bounds.maxSequences + PROMPT_LOGIT_ROWS),
        blockCount: kvBlocks,
        policy: flags.schedulingPolicy,
        prefixCaching: flags.enablePrefixCaching,
        eosIds,
      },
      runner: {
        kind: 'native',
        options: {
          ...bounds,
          weightsPath,
          shape,
          tensors,
          activations: flags.activations,
          isa: flags.isa,
          threads: flags.threads,
          kvFormat,
          kvBlocks,
        },
      },
    });
    return { engine, maxModelLength };
  } catch (error) {
    throw startFailure(error);
  }
}

function startFailure(error: unknown): unknown {
  if (!(error instanceof EngineStartError)) return error;
  const code = error.code === 'BAD_MODEL' || error.code === 'FILE' ? 'model' : 'machine';
  return new ServerError(code, `${error.message} ${error.hint}`, { cause: error });
}

function servedModel(loaded: LoadedModel, flags: ServeFlags): ServedModel {
  const names = (flags.servedModelName ?? loaded.name).split(',').filter((name) => name !== '');
  const { path, tokenizer, chatTemplate, synthetic, quantisation, parameters, fileBytes } = loaded;
  let sha256: Promise<string> | undefined;
  return {
    name: names[0] ?? loaded.name,
    names,
    path,
    tokenizer,
    encoder: new PromptEncoder(tokenizer, { module: TOKENIZER_MODULE, argument: flags.model }),
    vocabulary: loaded.shape.vocabulary,
    chatTemplate,
    synthetic,
    quantisation,
    parameters,
    fileBytes,
    sha256: () => {
      sha256 ??= loaded.sha256();
      return sha256;
    },
    created: Math.floor((performance.timeOrigin + performance.now()) / 1000),
  };
}

async function listen(
  app: FastifyInstance,
  flags: ServeFlags,
  engine: EngineClient,
): Promise<string> {
  const { host, port } = flags;
  try {
    await app.listen({ host, port });
  } catch (error) {
    await engine.close();
    throw listenFailure(error, host, port);
  }
  const address = app.server.address() as AddressInfo;
  const shownHost = address.family === 'IPv6' ? `[${address.address}]` : address.address;
  return `http://${shownHost}:${address.port}`;
}

function listenFailure(error: unknown, host: string, port: number): unknown {
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'EADDRINUSE') {
    return new ServerError(
      'port',
      `Port ${port} on ${host} is in use; name another with --port, or 0 for a free one.`,
    );
  }
  if (code === 'EACCES') {
    return new ServerError(
      'port',
      `Port ${port} may not be used by this user; name one above 1023 with --port.`,
    );
  }
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND') {
    return new ServerError(
      'port',
      `${host} is not an address of this machine; name another with --host.`,
    );
  }
  return error;
}

interface StopParts {
  app: FastifyInstance;
  engine: EngineClient;
  admission: Admission;
  withinMs: number;
}

const DRAIN_POLL_MS = 20;
/** How long a client on a busy machine may take to read its last event before its socket is cut. */
const LAST_BYTES_MS = 5000;

async function stopServer({ app, engine, admission, withinMs }: StopParts): Promise<void> {
  admission.drain();
  const until = performance.now() + withinMs;
  while (admission.held > 0 && engine.state === 'ready' && performance.now() < until) {
    await new Promise((resolve) => setTimeout(resolve, DRAIN_POLL_MS));
  }
  // Live requests get an error event here, and their sockets close with them.
  await engine.close();
  const closed = app.close();
  setTimeout(() => app.server.closeAllConnections(), LAST_BYTES_MS).unref();
  await closed;
}
