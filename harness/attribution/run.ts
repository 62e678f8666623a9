// One attribution from the first look at the server to the body of its record: reach the server, hold the load, run the
// phases, read everything back while the server still lives, analyse, write the evidence, leave the machine clean.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { parse } from 'yaml';
import { HarnessError } from '../errors.ts';
import type { DriveResult } from '../load/drive.ts';
import { analyse } from './analyse.ts';
import { type AttributeOptions, type RulesFile, rulesFileSchema } from './attribute-options.ts';
import { type AttributionBody, attributionBodySchema } from './attribution-record.ts';
import type { CaptureInput } from './capture.ts';
import { leftBehind, listEvidence, machineState, pruneEvidence } from './evidence.ts';
import { type OnCpuProfile, type ResolveFrame, readOnCpu } from './on-cpu.ts';
import { copyPerfMaps, lookUp, type PerfMap, parsePerfMap } from './perf-map.ts';
import { type PhaseCaptures, type PhaseName, runPhases } from './phases.ts';
import { parsePremises } from './premise.ts';
import { ticksPerSecond } from './proc-tree.ts';
import { bodyOf } from './record-body.ts';
import { probeRights, type Rights } from './rights.ts';
import { type DeclaredRoles, type RoleRules, resolveRules } from './roles.ts';
import { readSched, type SchedTrace } from './sched-record.ts';
import { SteadyLoad } from './steady-load.ts';
import { readThreads, StepCollector } from './step-source.ts';
import { stackClassifier } from './symbol-classes.ts';
import { reachTarget, type Target } from './target.ts';
import { writeOutputs } from './write-outputs.ts';

export interface AttributeEvents {
  onStage(what: string): void;
  onPhase(name: PhaseName, seconds: number): void;
}

export interface Attributed {
  body: AttributionBody;
  /** The evidence folder of this capture. */
  folder: string;
}

/** The preset that fits a make of server. */
const PRESETS: Record<string, RoleRules> = {
  mxbench: 'mxbench',
  vllm: 'vllm',
  sglang: 'sglang',
  'llama.cpp': 'llama-server',
};

function readRules(file: string | undefined): RulesFile {
  if (file === undefined) return { classes: [] };
  const parsed = rulesFileSchema.safeParse(parse(readText(file)));
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  throw new HarnessError('INVALID_FILE', `${file}: ${issue?.path.join('.')} ${issue?.message}`);
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    throw new HarnessError('INVALID_FILE', `${file} cannot be read`, { cause });
  }
}

interface Gathered {
  captures: PhaseCaptures;
  result: DriveResult;
  profile?: OnCpuProfile;
  trace?: SchedTrace;
  steps?: CaptureInput['steps'];
  declared: DeclaredRoles;
  mapNotes: string[];
  /** How long the recordings took to read back. */
  reportSeconds: number;
}

/** Runs the attribution; `folder` is new and ours. Whatever was started is ended, also on the way out by an error. */
export async function attribute(
  options: AttributeOptions,
  folder: string,
  events: AttributeEvents,
  signal: AbortSignal,
): Promise<Attributed> {
  const rules = readRules(options.rules);
  const premises =
    options.premise === undefined ? [] : parsePremises(readText(options.premise), options.premise);
  const before = machineState([process.cwd(), tmpdir()]);
  const rights = await probeRights();
  if (options.perf && rights.perf === null)
    throw new HarnessError('USAGE', 'perf is not installed', {
      hint: 'Install it (Debian: apt-get install linux-perf), or leave --perf out: busy time and the waterfall work without.',
    });
  mkdirSync(folder, { recursive: true });
  events.onStage('reaching the server');
  const target = await reachTarget(options, signal);
  let gathered: Gathered;
  try {
    gathered = await gather({
      options,
      folder,
      events,
      signal,
      target,
      rights,
      classes: rules.classes,
    });
  } finally {
    events.onStage('stopping the server');
    await target.stop();
  }
  const analysis = analyse({
    captures: gathered.captures,
    ...(gathered.profile ? { profile: gathered.profile } : {}),
    ...(gathered.trace ? { trace: gathered.trace } : {}),
    ...(gathered.steps ? { steps: gathered.steps } : {}),
    timelines: gathered.result.timelines,
    originNs: Number(gathered.result.originNs),
    rules: resolveRules(rules.roles ?? PRESETS[target.identity.kind] ?? 'node'),
    declared: gathered.declared,
    ticksPerSecond: ticksPerSecond(),
    kernelNames: rights.kernelNames,
    premises,
  });
  events.onStage('writing the evidence');
  const against = options.against;
  const lines = await writeOutputs(folder, target.identity.name, analysis, against);
  const notes = notesOf(
    gathered,
    rights,
    leftBehind(before, machineState([process.cwd(), tmpdir()])),
  );
  const draft = await bodyOf({ options, target, rights, analysis, gathered, lines, notes });
  writeFileSync(join(folder, 'attribution.json'), `${JSON.stringify(draft, null, 1)}\n`);
  const files = pruneEvidence(folder, await listEvidence(folder), options.keepMegabytes * 1e6);
  return { body: attributionBodySchema.parse({ ...draft, evidence: files }), folder };
}

interface GatherInput {
  options: AttributeOptions;
  folder: string;
  events: AttributeEvents;
  signal: AbortSignal;
  target: Target;
  rights: Rights;
  classes: RulesFile['classes'];
}

async function gather(input: GatherInput): Promise<Gathered> {
  const { options, folder, events, signal, target, rights } = input;
  const { baseUrl, identity } = target;
  const profiled = options.perf ? options.duration + options.schedSeconds : 0;
  events.onStage('a first round, to learn the pace');
  const load = await SteadyLoad.start({
    baseUrl,
    identity,
    concurrency: options.concurrency,
    inputTokens: options.inputTokens,
    outputTokens: options.outputTokens,
    seed: options.seed,
    requestTimeoutMs: options.timeout * 1_000,
    seconds: 2 * options.freeSeconds + profiled,
    signal,
  });
  const collector = new StepCollector(baseUrl);
  let captures: PhaseCaptures;
  let result: DriveResult;
  let steps: Gathered['steps'];
  const hasSteps = await collector.start();
  const declared = await declaredRoles(baseUrl);
  try {
    captures = await runPhases({
      rootPid: target.pid,
      folder,
      freeSeconds: options.freeSeconds,
      onCpuSeconds: options.duration,
      schedSeconds: options.schedSeconds,
      frequency: options.frequency,
      sample: options.perf,
      trace: options.perf && rights.scheduler,
      signal,
      onPhase: (name, seconds) => events.onPhase(name, seconds),
    });
  } finally {
    if (hasSteps) steps = await collector.stop();
    result = await load.stop();
  }
  events.onStage('reading the recordings');
  const started = performance.now();
  const maps = copyPerfMaps(captures.pids, folder).map((file) => ({
    file,
    map: parsePerfMap(readText(file)),
  }));
  const profile = captures.onCpu
    ? await readOnCpu(captures.onCpu, stackClassifier(input.classes), resolver(maps))
    : undefined;
  const trace = captures.sched ? await readSched(captures.sched) : undefined;
  return {
    captures,
    result,
    declared,
    ...(profile ? { profile } : {}),
    ...(trace ? { trace } : {}),
    ...(hasSteps && steps ? { steps } : {}),
    mapNotes: maps.flatMap(mapNote),
    reportSeconds: (performance.now() - started) / 1e3,
  };
}

async function declaredRoles(baseUrl: string): Promise<DeclaredRoles> {
  const map = await readThreads(baseUrl);
  return new Map((map?.threads ?? []).map(({ tid, role, name }) => [tid, { role, name }]));
}

function notesOf(gathered: Gathered, rights: Rights, left: readonly string[]): string[] {
  const { profile, trace } = gathered;
  return [
    ...(rights.missing === null ? [] : [rights.missing]),
    ...gathered.mapNotes,
    `the recordings were read back in ${gathered.reportSeconds.toFixed(1)} s`,
    ...(profile && profile.counts.badLines > 0
      ? [
          `${profile.counts.badLines} lines of perf script were not understood, such as ${profile.counts.firstBad[0]}`,
        ]
      : []),
    ...(profile && profile.outside > 0
      ? [`${profile.outside} samples lie outside the sampling window`]
      : []),
    ...(profile && profile.folded.coverage.truncated > 0
      ? [
          `${profile.folded.coverage.truncated} stacks were cut at 127 frames and hang under [truncated]`,
        ]
      : []),
    ...(trace && trace.badLines > 0
      ? [`${trace.badLines} scheduler lines were not understood`]
      : []),
    ...(left.length > 0 ? [`left behind: ${left.join(', ')}`] : []),
    ...perfComplaints(profile?.stderr ?? ''),
  ];
}

interface NamedMap {
  file: string;
  map: PerfMap;
}

/** Names from the copied maps, where perf itself found none: the process may live in a container. */
function resolver(maps: readonly NamedMap[]): ResolveFrame {
  const byName = new Map(maps.map(({ file, map }) => [basename(file), map]));
  return (dso, ip) => {
    const map = byName.get(basename(dso));
    return map && lookUp(map, Number.parseInt(ip, 16));
  };
}

/** A map of which no line can be read would leave every JavaScript frame without a name, and say nothing. */
function mapNote({ file, map: { lines, badLines } }: NamedMap): string[] {
  return badLines > 0
    ? [`${badLines} of ${lines} lines of ${basename(file)} are not readable`]
    : [];
}

/** What perf said beyond its usual words. */
function perfComplaints(stderr: string): string[] {
  const usual = /^(Events (en|dis)abled|\[ perf record: (Woken up|Captured))/;
  const rest = stderr.split('\n').filter((line) => line.trim() !== '' && !usual.test(line));
  return rest.length > 0 ? [`perf said: ${rest.slice(0, 4).join(' ')}`] : [];
}
