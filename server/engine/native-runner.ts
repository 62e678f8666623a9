// The runner of the server: the native engine. A plan is already in native form, so nothing is copied here.
import {
  type EngineInfo,
  type EngineOptions,
  loadAddon,
  type NativeEngine,
} from '../../native/index.ts';
import type { StepPlan } from '../scheduler/step-plan.ts';
import type { Runner } from './runner.ts';

export class NativeRunner implements Runner {
  readonly #engine: NativeEngine;

  /** Loads the model; NativeError says what is wrong with it or with this machine. */
  constructor(options: EngineOptions) {
    this.#engine = loadAddon().createEngine(options);
  }

  get info(): EngineInfo {
    return this.#engine.info;
  }

  forward(plan: StepPlan): void {
    this.#engine.forward(plan);
  }

  logits(row: number): Float32Array {
    return this.#engine.logits(row);
  }

  sample(plan: StepPlan, drawn: Int32Array): void {
    this.#engine.sample(plan, drawn);
  }

  close(): void {
    this.#engine.close();
  }
}

/** Names the calling thread for perf and /proc. */
export function nameThread(name: string): void {
  loadAddon().nameThread(name);
}
