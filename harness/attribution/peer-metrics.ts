// The step counter of servers that have one in their Prometheus metrics, polled through the phases: steps in a window are
// then the engine's own count, and not what the streams let guess. Parsing and interpolating are pure; polling is at the end.
import { monotonicNs } from './proc-tree.ts';

/** Counters that go up by one with each step of the engine, by name of the metric. */
const STEP_COUNTERS = [
  'vllm:iteration_tokens_total_count',
  'llamacpp:n_decode_total',
  'sglang:num_decode_steps_total',
] as const;

export interface CounterPoint {
  atNs: number;
  value: number;
}

/** Sum of a counter over its labels in Prometheus text; undefined where it does not occur. */
export function counterValue(text: string, name: string): number | undefined {
  let sum: number | undefined;
  for (const line of text.split('\n')) {
    if (!line.startsWith(name)) continue;
    const match = /^(?:\{.*\})?\s+([-+0-9.eE]+)/.exec(line.slice(name.length));
    const value = Number(match?.[1]);
    if (match && Number.isFinite(value)) sum = (sum ?? 0) + value;
  }
  return sum;
}

/** The first step counter that the text holds. */
export function stepCounterIn(text: string): { name: string; value: number } | undefined {
  for (const name of STEP_COUNTERS) {
    const value = counterValue(text, name);
    if (value !== undefined) return { name, value };
  }
  return undefined;
}

/** Value at a moment by linear interpolation between polls; the ends are held. */
function valueAt(points: readonly CounterPoint[], ns: number): number {
  let before = points[0];
  for (const point of points) {
    if (point.atNs > ns) {
      if (!before || before === point || point.atNs === before.atNs) return point.value;
      const share = (ns - before.atNs) / (point.atNs - before.atNs);
      return before.value + share * (point.value - before.value);
    }
    before = point;
  }
  return before?.value ?? 0;
}

/** Steps between two moments; a counter that went backwards (a restart) counts nothing. */
export function stepsBetween(
  points: readonly CounterPoint[],
  fromNs: number,
  toNs: number,
): number {
  return Math.max(0, Math.round(valueAt(points, toNs) - valueAt(points, fromNs)));
}

const TIMEOUT_MS = 5_000;

async function metricsText(baseUrl: string): Promise<string | undefined> {
  try {
    const url = new URL('/metrics', baseUrl);
    const response = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS) });
    return response.ok ? await response.text() : undefined;
  } catch {
    return undefined;
  }
}

/** Polls the step counter; stop() returns its points, none where the server has no such counter. */
export class MetricsCollector {
  readonly #baseUrl: string;
  readonly #points: CounterPoint[] = [];
  #name: string | undefined;
  #timer: NodeJS.Timeout | undefined;
  #reading: Promise<void> = Promise.resolve();

  constructor(baseUrl: string) {
    this.#baseUrl = baseUrl;
  }

  /** Name of the counter, or undefined where there is none. */
  async start(intervalMs = 1_000): Promise<string | undefined> {
    await this.#poll();
    if (this.#name !== undefined)
      this.#timer = setInterval(() => {
        this.#reading = this.#reading.then(() => this.#poll());
      }, intervalMs);
    return this.#name;
  }

  async stop(): Promise<CounterPoint[]> {
    clearInterval(this.#timer);
    await this.#reading;
    if (this.#timer !== undefined) await this.#poll();
    this.#timer = undefined;
    return this.#points;
  }

  async #poll(): Promise<void> {
    const text = await metricsText(this.#baseUrl);
    const found = text === undefined ? undefined : stepCounterIn(text);
    if (!found) return;
    this.#name = found.name;
    this.#points.push({ atNs: monotonicNs(), value: found.value });
  }
}
