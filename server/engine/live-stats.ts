// The engine's gauges and counters in shared memory, so that the front end can read them at any time without asking,
// also while a step runs or when none does. Each value is exact; the set is not one snapshot.
import type { EngineStats } from '../frontend/engine-client.ts';

const FIELDS = [
  'running',
  'waiting',
  'kvBlocksFree',
  'kvBlocks',
  'preemptions',
  'prefixQueryTokens',
  'prefixHitTokens',
  'steps',
] as const satisfies readonly (keyof EngineStats)[];

export class LiveStats {
  readonly shared: SharedArrayBuffer;
  readonly #values: Float64Array;

  constructor(shared?: SharedArrayBuffer) {
    this.shared = shared ?? new SharedArrayBuffer(FIELDS.length * 8);
    this.#values = new Float64Array(this.shared);
  }

  write(stats: EngineStats): void {
    for (let index = 0; index < FIELDS.length; index += 1) {
      const field = FIELDS[index];
      if (field) this.#values[index] = stats[field];
    }
  }

  read(): EngineStats {
    const entries = FIELDS.map((field, index) => [field, this.#values[index] ?? 0] as const);
    return Object.fromEntries(entries) as unknown as EngineStats;
  }
}
