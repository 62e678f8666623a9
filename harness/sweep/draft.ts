// The draft of a sweep's record out of what was measured. Pure but for nothing: time, machine and identity are arguments.

import { basename } from 'node:path';
import type { RunningArm } from '../arms/start-arm.ts';
import {
  type Draft,
  type Environment,
  type HarnessIdentity,
  RECORD_SCHEMA,
  SWEEP_METHODOLOGY,
  type SweepRecord,
} from '../record/record.ts';
import { type Private, redact } from '../record/redaction.ts';
import type { SweepOptions } from '../scenario/sweep-options.ts';
import type { SweepOutcome } from './run-sweep.ts';

export interface DraftFacts {
  createdUtc: string;
  environment: Environment;
  harness: HarnessIdentity;
  secrets: Private;
}

/** The record without id and place in the chain, private names taken out. */
export function draftSweep(
  options: SweepOptions,
  outcome: SweepOutcome,
  facts: DraftFacts,
): Draft<SweepRecord> {
  const nonBindingReasons: string[] = [];
  if (facts.harness.dirty === true) nonBindingReasons.push('dirty_tree');
  if (facts.harness.commit === null) nonBindingReasons.push('no_commit');
  if (outcome.server.identity.resolvedConfig === null) nonBindingReasons.push('config_unproven');
  const { value, removed } = redact(recordedArm(outcome.server), facts.secrets);
  const cells = redact(outcome.cells, facts.secrets);
  const reasons = new Map([...removed, ...cells.removed].map((item) => [item.what, item]));
  return {
    schema: RECORD_SCHEMA,
    kind: 'sweep',
    methodology: SWEEP_METHODOLOGY,
    createdUtc: facts.createdUtc,
    complete: true,
    interrupted: outcome.interrupted,
    ...(options.label === undefined ? {} : { label: options.label }),
    binding: nonBindingReasons.length === 0,
    nonBindingReasons,
    harness: facts.harness,
    environment: facts.environment,
    arm: value,
    workload: workloadOf(options, outcome),
    cells: cells.value,
    raw: { kind: 'inline', requests: [] },
    redaction: [...reasons.values()],
  };
}

/** What the record says of a server. */
export function recordedArm(server: RunningArm): SweepRecord['arm'] {
  const { identity, role, label, command, commit, startSeconds } = server;
  const { kind: serverKind, version: serverVersion, name: _, model, ...rest } = identity;
  const { path: __, ...known } = model;
  // Servers that name a model by its path would tell where a user keeps files.
  const id = model.id.startsWith('/') ? basename(model.id) : model.id;
  return {
    role,
    label,
    serverKind,
    serverVersion,
    command,
    commit,
    startSeconds,
    ...rest,
    model: { ...known, id },
  };
}

function workloadOf(options: SweepOptions, { plans }: SweepOutcome): SweepRecord['workload'] {
  const { seed, inputTokens, outputTokens, concurrency } = options;
  return {
    loop: 'closed',
    endpoint: 'completions',
    seed,
    inputTokens,
    outputTokens,
    concurrencies: concurrency,
    requestsPerCell: plans.map(({ requests }) => requests),
    temperature: 0,
    exactOutput: true,
    coldCache: true,
  };
}
