// What the engine core needs of whatever computes: run a plan, show a row's logits, draw the tokens.
import type { StepPlan } from '../scheduler/step-plan.ts';

export interface Runner {
  /** Computes the plan's tokens and leaves logits for its rows. */
  forward(plan: StepPlan): void;
  /** A writable view of one row's logits, valid until the next forward(); what is written changes the draw. */
  logits(row: number): Float32Array;
  /** Draws one token a row into `drawn`. */
  sample(plan: StepPlan, drawn: Int32Array): void;
  close(): void;
}
