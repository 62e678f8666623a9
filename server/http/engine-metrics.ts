// Prometheus metrics that describe the engine: read from its live counters when scraped, or added up step by step.
import { Counter, Gauge, type Registry } from 'prom-client';
import type { EngineClient, EngineStats } from '../frontend/engine-client.ts';
import type { ServedModel } from '../frontend/served-model.ts';

/** Every metric of the model carries these. */
export type ModelLabels = Record<'model_name' | 'engine', string>;

interface Definition {
  name: string;
  help: string;
  labels: Record<string, string>;
  read(): number;
}

function defineGauge(registry: Registry, { name, help, labels, read }: Definition): void {
  const gauge = {
    name: `vllm:${name}`,
    help,
    labelNames: Object.keys(labels),
    registers: [registry],
    collect(this: Gauge) {
      this.set(labels, read());
    },
  };
  new Gauge(gauge);
}

function defineCounter(registry: Registry, { name, help, labels, read }: Definition): void {
  const counter = {
    name: `vllm:${name}`,
    help,
    labelNames: Object.keys(labels),
    registers: [registry],
    collect(this: Counter) {
      this.reset();
      this.inc(labels, read());
    },
  };
  new Counter(counter);
}

/** Registers them all. */
export function defineEngineMetrics(
  registry: Registry,
  engine: EngineClient,
  model: Pick<ServedModel, 'parameters'>,
  labels: ModelLabels,
): void {
  const gauge = (name: string, help: string, read: () => number, more = {}): void =>
    defineGauge(registry, { name, help, labels: { ...labels, ...more }, read });
  const counter = (name: string, help: string, read: () => number): void =>
    defineCounter(registry, { name, help, labels, read });
  const stat = (field: keyof EngineStats) => () => engine.stats()[field];
  const never = (): number => 0;
  gauge('num_requests_running', 'Sequences in the batch.', stat('running'));
  gauge('num_requests_waiting', 'Sequences queued.', stat('waiting'));
  const reason = { reason: 'capacity' };
  gauge('num_requests_waiting_by_reason', 'Sequences queued, by reason.', stat('waiting'), reason);
  gauge('kv_cache_usage_perc', 'Share of KV blocks in use, 0 to 1.', () => {
    const { kvBlocks, kvBlocksFree } = engine.stats();
    return kvBlocks === 0 ? 0 : 1 - kvBlocksFree / kvBlocks;
  });
  const awake = { sleep_state: 'awake' };
  gauge(
    'engine_sleep_state',
    '1 while the engine is awake.',
    () => Number(engine.state === 'ready'),
    awake,
  );
  counter('num_preemptions_total', 'Preempted sequences.', stat('preemptions'));
  counter(
    'prefix_cache_queries_total',
    'Tokens looked up in the prefix cache.',
    stat('prefixQueryTokens'),
  );
  counter('prefix_cache_hits_total', 'Tokens found in the prefix cache.', stat('prefixHitTokens'));
  counter('external_prefix_cache_queries_total', 'There is no external cache: always 0.', never);
  counter('external_prefix_cache_hits_total', 'There is no external cache: always 0.', never);
  counter('mm_cache_queries_total', 'There is no multimodal cache: always 0.', never);
  counter('mm_cache_hits_total', 'There is no multimodal cache: always 0.', never);
  defineCacheInfo(registry, engine);
  defineEstimates(engine, model, counter);
}

function defineCacheInfo(registry: Registry, { info }: EngineClient): void {
  const labels = {
    engine: '0',
    block_size: String(info.blockTokens),
    enable_prefix_caching: String(info.prefixCaching),
    gpu_memory_utilization: 'none',
    num_gpu_blocks: String(info.kvBlocks),
    cache_dtype: info.kvFormat,
    kv_cache_size_tokens: String(info.kvBlocks * info.blockTokens),
  };
  const help = 'The KV cache, described by its labels.';
  defineGauge(registry, { name: 'cache_config_info', help, labels, read: () => 1 });
}

/** Estimates by the usual model of a dense decoder; "gpu" stands for the device that runs the kernels, here the CPU. */
function defineEstimates(
  engine: EngineClient,
  { parameters }: Pick<ServedModel, 'parameters'>,
  counter: (name: string, help: string, read: () => number) => void,
): void {
  const { weightBytes, kvBytes, kvBlocks, blockTokens } = engine.info;
  const kvBytesPerToken = kvBytes / (kvBlocks * blockTokens);
  let flops = 0;
  let readBytes = 0;
  let writeBytes = 0;
  engine.onStep((tokens, contextTokens) => {
    flops += 2 * parameters * tokens;
    readBytes += weightBytes + contextTokens * kvBytesPerToken;
    writeBytes += tokens * kvBytesPerToken;
  });
  counter(
    'estimated_flops_per_gpu_total',
    '2 x parameters x tokens, without attention.',
    () => flops,
  );
  counter(
    'estimated_read_bytes_per_gpu_total',
    'Weights once a step, and the KV that it reads.',
    () => readBytes,
  );
  counter('estimated_write_bytes_per_gpu_total', 'The KV that is written.', () => writeBytes);
}
