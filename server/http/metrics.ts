// Prometheus metrics of requests under vLLM's names where the meaning is the same, with its labels and buckets. Counters
// of tokens grow by exactly what usage reports to clients.
import { Counter, collectDefaultMetrics, Histogram, Registry } from 'prom-client';
import type { Choice } from '../frontend/choice.ts';
import type { EngineClient } from '../frontend/engine-client.ts';
import type { Generation, GenerationObserver } from '../frontend/generation.ts';
import type { ServedModel } from '../frontend/served-model.ts';
import { defineEngineMetrics, type ModelLabels } from './engine-metrics.ts';

const TTFT = [
  0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80,
  160, 640, 2560,
];
const PER_TOKEN = [
  0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80,
];
const LATENCY = [
  0.3, 0.5, 0.8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680,
];
const ITERATION = [1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384];
const CHOICES = [1, 2, 5, 10, 20];

/** 1, 2, 5, 10 ... up to the greatest length. */
export function lengthBuckets(longest: number): number[] {
  const buckets: number[] = [];
  for (let scale = 1; scale <= longest; scale *= 10) buckets.push(scale, scale * 2, scale * 5);
  return buckets.filter((bucket) => bucket <= longest);
}

const seconds = (ns: number): number => ns / 1e9;

export class Metrics implements GenerationObserver {
  readonly registry = new Registry();
  readonly #labels: ModelLabels;
  readonly #promptTokens: Counter;
  readonly #promptTokensCached: Counter;
  readonly #promptTokensBySource: Counter;
  /** Bound to its labels, because it grows with every token. */
  readonly #generationTokens: ReturnType<Counter['labels']>;
  readonly #success: Counter;
  readonly #httpRequests: Counter;
  readonly #httpSeconds: Histogram;
  readonly #histograms = new Map<string, ReturnType<Histogram['labels']>>();

  constructor(model: Pick<ServedModel, 'name' | 'parameters'>, engine: EngineClient) {
    this.#labels = { model_name: model.name, engine: '0' };
    this.#promptTokens = this.#counter('prompt_tokens_total', 'Prompt tokens.');
    this.#promptTokensCached = this.#counter(
      'prompt_tokens_cached_total',
      'Prompt tokens found in the prefix cache.',
    );
    this.#promptTokensBySource = this.#counter(
      'prompt_tokens_by_source_total',
      'Prompt tokens by where their keys and values came from.',
      ['source'],
    );
    const generationTokens = this.#counter('generation_tokens_total', 'Generated tokens.');
    this.#generationTokens = generationTokens.labels(this.#labels);
    this.#success = this.#counter('request_success_total', 'Ended sequences.', ['finished_reason']);
    this.#httpRequests = new Counter({
      name: 'http_requests_total',
      help: 'Answered HTTP requests.',
      labelNames: ['handler', 'method', 'status'],
      registers: [this.registry],
    });
    this.#httpSeconds = new Histogram({
      name: 'http_request_duration_seconds',
      help: 'Request received to answer sent.',
      labelNames: ['handler', 'method'],
      buckets: LATENCY,
      registers: [this.registry],
    });
    this.#defineHistograms(engine.info.maxModelLength);
    defineEngineMetrics(this.registry, engine, model, this.#labels);
    collectDefaultMetrics({ register: this.registry });
    const iteration = this.#histograms.get('iteration_tokens_total');
    engine.onStep((tokens) => iteration?.observe(tokens));
  }

  onFirstToken(generation: Generation, choice: Choice): void {
    const { firstTokenNs, scheduledNs, queuedNs } = choice;
    this.#observe('time_to_first_token_seconds', seconds(firstTokenNs - generation.arrivedNs));
    this.#observe('request_queue_time_seconds', seconds(scheduledNs - queuedNs));
    this.#observe('request_prefill_time_seconds', seconds(firstTokenNs - scheduledNs));
    this.#countPrompt(generation, choice);
  }

  onToken(choice: Choice, gapNs: number): void {
    if (choice.countsTokens) this.#generationTokens.inc();
    if (gapNs > 0) this.#observe('inter_token_latency_seconds', seconds(gapNs));
  }

  onChoiceEnd(generation: Generation, choice: Choice, reason: string): void {
    this.#success.inc({ ...this.#labels, finished_reason: reason });
    if (choice.firstTokenNs === 0) return;
    const { completionTokens, firstTokenNs, lastTokenNs, scheduledNs, cachedTokens } = choice;
    const promptTokens = choice.prompt.ids.length;
    const decodeNs = lastTokenNs - firstTokenNs;
    this.#observe('e2e_request_latency_seconds', seconds(lastTokenNs - generation.arrivedNs));
    this.#observe('request_inference_time_seconds', seconds(lastTokenNs - scheduledNs));
    this.#observe('request_decode_time_seconds', seconds(decodeNs));
    this.#observe('request_prompt_tokens', promptTokens);
    this.#observe('request_generation_tokens', completionTokens);
    this.#observe('request_max_num_generation_tokens', completionTokens);
    this.#observe('request_params_max_tokens', choice.maxTokens);
    this.#observe('request_params_n', generation.request.choicesPerPrompt);
    this.#observe('request_prefill_kv_computed_tokens', promptTokens - cachedTokens);
    const perToken = seconds(decodeNs / Math.max(1, completionTokens - 1));
    this.#observe('request_time_per_output_token_seconds', perToken);
  }

  onHttpAnswer(handler: string, method: string, status: number, tookMs: number): void {
    this.#httpRequests.inc({ handler, method, status: String(status) });
    this.#httpSeconds.observe({ handler, method }, tookMs / 1000);
  }

  /** A prompt counts once, however many choices it has, as in usage. */
  #countPrompt(generation: Generation, choice: Choice): void {
    if (choice.index % generation.request.choicesPerPrompt !== 0) return;
    const { cachedTokens } = choice;
    const promptTokens = choice.prompt.ids.length;
    this.#promptTokens.inc(this.#labels, promptTokens);
    this.#promptTokensCached.inc(this.#labels, cachedTokens);
    const bySource = (source: string, tokens: number): void =>
      this.#promptTokensBySource.inc({ ...this.#labels, source }, tokens);
    bySource('local_compute', promptTokens - cachedTokens);
    bySource('local_cache_hit', cachedTokens);
  }

  #observe(name: string, value: number): void {
    this.#histograms.get(name)?.observe(value);
  }

  #defineHistograms(longest: number): void {
    const define = (name: string, help: string, buckets: number[]): void => {
      const histogram = new Histogram({
        name: `vllm:${name}`,
        help,
        buckets,
        labelNames: ['model_name', 'engine'],
        registers: [this.registry],
      });
      this.#histograms.set(name, histogram.labels(this.#labels));
    };
    const lengths = lengthBuckets(longest);
    define('time_to_first_token_seconds', 'Arrival to first token.', TTFT);
    define('inter_token_latency_seconds', 'Gap between tokens of a sequence.', PER_TOKEN);
    define('request_time_per_output_token_seconds', 'Mean gap of a sequence.', PER_TOKEN);
    define('e2e_request_latency_seconds', 'Arrival to last token.', LATENCY);
    define('request_queue_time_seconds', 'Queued to scheduled.', LATENCY);
    define('request_inference_time_seconds', 'Scheduled to last token.', LATENCY);
    define('request_prefill_time_seconds', 'Scheduled to first token.', LATENCY);
    define('request_decode_time_seconds', 'First to last token.', LATENCY);
    define('request_prompt_tokens', 'Prompt tokens of a sequence.', lengths);
    define('request_generation_tokens', 'Generated tokens of a sequence.', lengths);
    define('request_max_num_generation_tokens', 'Most generated tokens of a request.', lengths);
    define('request_params_max_tokens', 'max_tokens of a request.', lengths);
    define('request_prefill_kv_computed_tokens', 'Prompt tokens computed, not cached.', lengths);
    define('request_params_n', 'Choices asked for.', CHOICES);
    define('iteration_tokens_total', 'Tokens run by a step.', ITERATION);
  }

  #counter(name: string, help: string, more: string[] = []): Counter {
    const counter = new Counter({
      name: `vllm:${name}`,
      help,
      labelNames: ['model_name', 'engine', ...more],
      registers: [this.registry],
    });
    if (more.length === 0) counter.inc(this.#labels, 0);
    return counter;
  }
}
