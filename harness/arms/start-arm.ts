// Any arm to a server that is reached, identified and seen to give one right generation. What it started, it can stop.
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { dialectOf } from '../client/dialect.ts';
import { HarnessError } from '../errors.ts';
import type { Prompt } from '../load/prompts.ts';
import { waitUntilReady } from '../load/ready.ts';
import type { Arm } from '../scenario/arm.ts';
import { startBundled } from './bundled.ts';
import { startCommand } from './command-arm.ts';
import { identify, type ServerIdentity } from './identity.ts';
import { listenerOf } from './listener.ts';
import { buildRevision } from './revision.ts';

/** What the work asks of a server. */
export interface ArmDemand {
  concurrency: number;
  /** Prompt and answer together. */
  sequenceTokens: number;
  outputTokens: number;
  /** A prompt that no measured request uses. */
  readyPrompt: (identity: ServerIdentity) => (index: number) => Prompt;
  /** Where revisions are built. */
  cacheFolder: string;
  signal: AbortSignal;
  onStage: (what: string) => void;
}

export interface RunningArm {
  role: Arm['kind'];
  label: string;
  baseUrl: string;
  /** Absent when it does not run on this machine. */
  pid: number | undefined;
  identity: ServerIdentity;
  command: string[] | null;
  /** The revision that was built for it. */
  commit: string | null;
  startSeconds: number | null;
  /** Why it can no longer answer, or undefined. */
  gone(): string | undefined;
  stop(): Promise<void>;
}

interface Reached {
  baseUrl: string;
  pid: number | undefined;
  command: string[] | null;
  commit: string | null;
  gone(): string | undefined;
  stop(): Promise<void>;
}

/** A server that is already there may still be loading its model. */
const READY_TIMEOUT_MS = 120_000;
const READY_TOKENS = 8;

/**
 * The arm with everything built that it needs, so that no server idles through a compilation; a revision that moves, such as
 * HEAD, is pinned to the commit that it is now.
 */
export async function prepareArm(arm: Arm, demand: ArmDemand): Promise<Arm> {
  if (arm.kind !== 'git') return arm;
  demand.onStage(`building ${arm.revision}`);
  const { commit } = await buildRevision(arm.revision, demand.cacheFolder, demand.signal);
  return { ...arm, revision: commit, label: arm.label ?? `git:${arm.revision.slice(0, 24)}` };
}

/** Starts or reaches the arm. SERVER_NOT_READY and SERVER_WRONG say why it cannot be measured; nothing is left running then. */
export async function startArm(arm: Arm, demand: ArmDemand): Promise<RunningArm> {
  const startedNs = process.hrtime.bigint();
  const reached = await reach(arm, demand);
  try {
    const identity = await withModelHash(await identifyInTime(arm, reached, demand), reached.pid);
    await untilRight(arm, reached, identity, demand);
    const startSeconds =
      arm.kind === 'url' ? null : Number(process.hrtime.bigint() - startedNs) / 1e9;
    const label =
      arm.label ?? (arm.kind === 'git' ? `git:${arm.revision.slice(0, 24)}` : identity.name);
    return { role: arm.kind, label, identity, startSeconds, ...reached };
  } catch (error) {
    await reached.stop();
    throw error;
  }
}

/** A server of this machine that names its model file, but not the hash: then we hash the file. */
async function withModelHash(
  identity: ServerIdentity,
  pid: number | undefined,
): Promise<ServerIdentity> {
  const { path, sha256 } = identity.model;
  if (pid === undefined || path === undefined || sha256 !== null) return identity;
  try {
    const hash = createHash('sha256');
    await pipeline(createReadStream(path), hash);
    return { ...identity, model: { ...identity.model, sha256: hash.digest('hex') } };
  } catch {
    // A folder, or a file that only the server may read: its weights stay unproven.
    return identity;
  }
}

async function reach(arm: Arm, demand: ArmDemand): Promise<Reached> {
  const { signal, onStage } = demand;
  if (arm.kind === 'url') {
    onStage(`asking ${arm.url} who it is`);
    const idle = { gone: () => undefined, stop: async () => undefined };
    const pid = await listenerOf(arm.url);
    return { baseUrl: arm.url, pid, command: null, commit: null, ...idle };
  }
  if (arm.kind === 'command') {
    onStage(`starting ${arm.command[0]}`);
    return { ...(await startCommand(arm)), commit: null };
  }
  const { model } = arm;
  if (model === undefined) throw new HarnessError('USAGE', 'The arm names no model.');
  const flags = [...needs(demand), ...arm.flags];
  if (arm.kind === 'bundled') {
    onStage(`starting the bundled server with ${model}`);
    return { ...(await startBundled({ model, flags, signal })), commit: null };
  }
  onStage(`building ${arm.revision}`);
  const { commit, serverMain } = await buildRevision(arm.revision, demand.cacheFolder, signal);
  onStage(`starting ${arm.revision} with ${model}`);
  return { ...(await startBundled({ model, flags, signal, serverMain })), commit };
}

/** Exactly what the work needs, so that neither memory nor admission is left to chance. */
function needs({ concurrency, sequenceTokens }: ArmDemand): string[] {
  return ['--max-num-seqs', String(concurrency), '--max-model-len', String(sequenceTokens)];
}

const RETRY_MS = 200;

/** An engine that was just started does not listen yet. */
async function identifyInTime(
  arm: Arm,
  reached: Reached,
  demand: ArmDemand,
): Promise<ServerIdentity> {
  const patienceMs = arm.kind === 'command' ? arm.readySeconds * 1000 : 0;
  const deadlineNs = process.hrtime.bigint() + BigInt(Math.round(patienceMs * 1e6));
  const served = arm.kind === 'url' || arm.kind === 'command' ? arm.model : undefined;
  for (;;) {
    try {
      const identity = await identify(reached.baseUrl, served, demand.signal);
      const dialect = arm.kind === 'command' ? arm.server : undefined;
      return dialect === undefined ? identity : { ...identity, kind: dialect };
    } catch (error) {
      const waits = error instanceof HarnessError && error.code === 'SERVER_NOT_READY';
      if (!waits) throw error;
      const gone = reached.gone();
      if (gone !== undefined) throw new HarnessError('SERVER_NOT_READY', gone);
      if (process.hrtime.bigint() > deadlineNs) throw error;
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
  }
}

async function untilRight(arm: Arm, reached: Reached, identity: ServerIdentity, demand: ArmDemand) {
  demand.onStage('waiting for one right generation');
  const timeoutMs = arm.kind === 'command' ? arm.readySeconds * 1000 : READY_TIMEOUT_MS;
  try {
    await waitUntilReady({
      baseUrl: reached.baseUrl,
      model: identity.model.id,
      endpoint: 'completions',
      dialect: dialectOf(identity.kind),
      signal: demand.signal,
      prompt: demand.readyPrompt(identity),
      outputTokens: Math.min(READY_TOKENS, demand.outputTokens),
      timeoutMs,
      gone: reached.gone,
    });
  } catch (error) {
    if (!(error instanceof HarnessError) || error.code !== 'INTERRUPTED') throw error;
    throw new HarnessError('INTERRUPTED', 'Interrupted before the first measurement.', {
      hint: 'Nothing was measured, so no record was written.',
      cause: error,
    });
  }
}
