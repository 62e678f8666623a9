// May two records stand beside each other? They may when the same work was done by the same method on the same class of
// machine; otherwise the first key that differs is named. Pure.
import { canonicalJson } from '../record/canonical-json.ts';
import type { SweepRecord } from '../record/record.ts';

/** What must be equal, by the name that people are told. */
const KEYS: Readonly<Record<string, (record: SweepRecord) => unknown>> = {
  methodology: (record) => record.methodology,
  'machine class': (record) => record.environment.envClass,
  'input tokens': (record) => record.workload.inputTokens,
  'output tokens': (record) => record.workload.outputTokens,
  seed: (record) => record.workload.seed,
  endpoint: (record) => record.workload.endpoint,
  'sampling temperature': (record) => record.workload.temperature,
  'exact output': (record) => record.workload.exactOutput,
  'cache policy': (record) => record.workload.coldCache,
};

/** The first key in which the records differ, with both values; undefined when they may be compared. */
export function firstDifference(a: SweepRecord, b: SweepRecord): string | undefined {
  for (const [key, of] of Object.entries(KEYS)) {
    const [left, right] = [canonicalJson(of(a)), canonicalJson(of(b))];
    if (left !== right) return `${key}: ${left} and ${right}`;
  }
  const [left, right] = [a.arm.model.sha256, b.arm.model.sha256];
  if (left !== null && right !== null && left !== right) {
    return `model: ${left.slice(0, 12)} and ${right.slice(0, 12)} (sha256 of the weights)`;
  }
  return undefined;
}
