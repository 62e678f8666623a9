// Which sweeps belong together: the same weights under the same load on the same class of machine. Pure.
import type { SweepRecord } from '../record/record.ts';

/** Equal for sweeps that belong together. */
export function workOf({ arm, environment, workload }: SweepRecord): string {
  const model = arm.model.sha256 ?? shortName(arm.model.id);
  return JSON.stringify([model, workload.inputTokens, workload.outputTokens, environment.envClass]);
}

/** How people read it. Servers name one file differently, so take the shortest of a group. */
export function workTitle({ arm, environment, workload }: SweepRecord): string {
  const weights = arm.model.synthetic === true ? ' (synthetic weights)' : '';
  return `${shortName(arm.model.id)}${weights}, ${workload.inputTokens} in, ${workload.outputTokens} out, on ${environment.envClass}`;
}

function shortName(id: string): string {
  return (id.split('/').at(-1) ?? id).replace(/\.gguf$/i, '');
}
