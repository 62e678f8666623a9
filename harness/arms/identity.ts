// Who answers behind a URL: which make of server, which model, which configuration. It asks the endpoints that the makes
// are known by, believes only what parses, and leaves the rest null.
import { request } from 'undici';
import { z } from 'zod';
import type { ServerKind } from '../client/dialect.ts';
import { HarnessError } from '../errors.ts';

export interface ServerIdentity {
  /** Which dialect it understands. */
  kind: ServerKind;
  /** What people call it. */
  name: string;
  version: string | null;
  isa: string | null;
  activations: string | null;
  threads: number | null;
  resolvedConfig: Record<string, unknown> | null;
  model: {
    /** The name that requests use. */
    id: string;
    sha256: string | null;
    fileBytes: number | null;
    quantisation: string | null;
    parameters: number | null;
    synthetic: boolean | null;
    vocabulary: number | null;
    /** Where its file lies on the server's machine, as the server says. */
    path?: string;
  };
}

const text = z.string().min(1);
const count = z.number().int().nonnegative();
const object = z.record(z.string(), z.unknown());

const modelList = z.object({
  data: z.array(
    z.object({
      id: text,
      owned_by: z.string().optional(),
      meta: z
        .object({ n_vocab: count, n_params: count, size: count })
        .partial()
        .nullish()
        .catch(undefined),
    }),
  ),
});

/** GET /server_info of the bundled server. */
const ourInfo = z.object({
  version: text,
  config: object,
  engine: z.object({ isa: text, activations: text, threads: count }),
  model: z.object({
    name: text,
    synthetic: z.boolean(),
    quantisation: z.string().nullish(),
    parameters: count.nullish(),
    file_bytes: count.nullish(),
    sha256: z.string().regex(/^[0-9a-f]{64}$/),
    vocabulary: count,
  }),
});
const llamaProps = z.object({
  model_path: text.optional(),
  default_generation_settings: object,
  build_info: z.string().optional(),
});
const vllmVersion = z.object({ version: text });

/** A server that answers at all does so at once, but ours hashes its model file first. */
const PROBE_TIMEOUT_MS = 5000;
const INFO_TIMEOUT_MS = 300_000;

/**
 * Asks the server who it is. `wantedModel` picks one of several served names. SERVER_WRONG when it lists no models or
 * not this one; SERVER_NOT_READY when it cannot be reached.
 */
export async function identify(
  baseUrl: string,
  wantedModel: string | undefined,
  signal: AbortSignal,
): Promise<ServerIdentity> {
  const root = baseUrl.replace(/\/+$/, '').replace(/\/v1$/, '');
  const ask = (path: string) => getJson(`${root}${path}`, signal);
  const listed = modelList.safeParse(await reach(`${root}/v1/models`, signal));
  const models = listed.success ? listed.data.data : [];
  const names = models.map(({ id }) => id);
  const served =
    wantedModel === undefined ? models[0] : models.find(({ id }) => id === wantedModel);
  if (served === undefined) {
    const problem =
      names.length === 0
        ? `${baseUrl} lists no model at /v1/models.`
        : `${baseUrl} does not serve ${JSON.stringify(wantedModel)}; it serves ${names.join(', ')}.`;
    throw new HarnessError('SERVER_WRONG', problem, { hint: 'Name a served model with --model.' });
  }
  const info = ourInfo.safeParse(await getJson(`${root}/server_info`, signal, INFO_TIMEOUT_MS));
  if (info.success) return ours(served.id, info.data);
  const blank = strangers(served);
  const props = llamaProps.safeParse(await ask('/props'));
  if (props.success) {
    const { build_info: version, ...config } = props.data;
    const path = config.model_path === undefined ? {} : { path: config.model_path };
    return {
      ...blank,
      kind: 'llama.cpp',
      name: 'llama.cpp',
      version: version ?? null,
      resolvedConfig: config,
      model: { ...blank.model, ...path },
    };
  }
  const owner = served.owned_by ?? '';
  if (owner === 'mxbench-emitter') return { ...blank, kind: 'mxbench', name: 'emitter' };
  const version = vllmVersion.safeParse(await ask('/version'));
  const kind: ServerKind = owner === 'vllm' ? 'vllm' : owner === 'sglang' ? 'sglang' : 'openai';
  return { ...blank, kind, name: kind, version: version.success ? version.data.version : null };
}

function ours(id: string, info: z.infer<typeof ourInfo>): ServerIdentity {
  return {
    kind: 'mxbench',
    name: 'mxbench',
    version: info.version,
    ...info.engine,
    resolvedConfig: info.config,
    model: {
      id,
      sha256: info.model.sha256,
      fileBytes: info.model.file_bytes ?? null,
      quantisation: info.model.quantisation ?? null,
      parameters: info.model.parameters ?? null,
      synthetic: info.model.synthetic,
      vocabulary: info.model.vocabulary,
    },
  };
}

function strangers(served: z.infer<typeof modelList>['data'][number]): ServerIdentity {
  return {
    kind: 'openai',
    name: 'openai',
    version: null,
    isa: null,
    activations: null,
    threads: null,
    resolvedConfig: null,
    model: {
      id: served.id,
      sha256: null,
      fileBytes: served.meta?.size ?? null,
      quantisation: null,
      parameters: served.meta?.n_params ?? null,
      synthetic: null,
      vocabulary: served.meta?.n_vocab ?? null,
    },
  };
}

async function reach(url: string, signal: AbortSignal): Promise<unknown> {
  try {
    const { status, json } = await get(url, signal, PROBE_TIMEOUT_MS);
    if (status === 200) return json;
    throw new Error(`it answers with HTTP status ${status}`);
  } catch (cause) {
    if (signal.aborted) {
      throw new HarnessError('INTERRUPTED', 'Interrupted before the first measurement.', {
        hint: 'Nothing was measured, so no record was written.',
      });
    }
    throw new HarnessError('SERVER_NOT_READY', `${url} cannot be used: ${reasonOf(cause)}.`, {
      cause,
      hint: 'Start the server first, and give its base URL, such as http://127.0.0.1:8000.',
    });
  }
}

function reasonOf(error: unknown): string {
  // Where a name has several addresses, the error of each is inside and the outer one says nothing.
  if (error instanceof AggregateError && error.errors[0] instanceof Error) {
    return error.errors[0].message;
  }
  return error instanceof Error ? error.message : String(error);
}

async function getJson(
  url: string,
  signal: AbortSignal,
  timeoutMs = PROBE_TIMEOUT_MS,
): Promise<unknown> {
  try {
    const { status, json } = await get(url, signal, timeoutMs);
    return status === 200 ? json : undefined;
  } catch {
    return undefined;
  }
}

/** undici's own request: fetch refuses ports that browsers keep from pages, and servers do listen there. */
async function get(
  url: string,
  signal: AbortSignal,
  timeoutMs: number,
): Promise<{ status: number; json: unknown }> {
  const response = await request(url, {
    signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
    reset: true,
  });
  const text = await response.body.text();
  return {
    status: response.statusCode,
    json: response.statusCode === 200 ? JSON.parse(text) : undefined,
  };
}
