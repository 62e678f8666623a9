// Measures one server that already answers: holds the load, runs the phases, collects the step trace, and reads every
// recording back while the server still lives, because its function names die with it.
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { HarnessError } from '../errors.ts';
import type { DriveResult } from '../load/drive.ts';
import type { AttributeOptions, RulesFile } from './attribute-options.ts';
import type { CaptureInput } from './capture.ts';
import { CLASS_PRESETS } from './class-presets.ts';
import { type CounterReading, countHardware } from './hardware.ts';
import { type OnCpuProfile, type ResolveFrame, readOnCpu } from './on-cpu.ts';
import { copyPerfMaps, lookUp, type PerfMap, parsePerfMap } from './perf-map.ts';
import { type PhaseCaptures, type PhaseName, runPhases } from './phases.ts';
import type { Rights } from './rights.ts';
import type { DeclaredRoles } from './roles.ts';
import { readSched, type SchedTrace } from './sched-record.ts';
import { SteadyLoad } from './steady-load.ts';
import { readThreads, StepCollector } from './step-source.ts';
import { stackClassifier } from './symbol-classes.ts';
import type { Target } from './target.ts';

export interface AttributeEvents {
  onStage(what: string): void;
  onPhase(name: PhaseName, seconds: number): void;
}

export interface Gathered {
  captures: PhaseCaptures;
  result: DriveResult;
  profile?: OnCpuProfile;
  trace?: SchedTrace;
  /** Hardware counters by thread, where the host has them. */
  counters?: CounterReading[];
  steps?: CaptureInput['steps'];
  declared: DeclaredRoles;
  mapNotes: string[];
  /** How long the recordings took to read back. */
  reportSeconds: number;
}

export interface GatherInput {
  options: AttributeOptions;
  folder: string;
  events: AttributeEvents;
  signal: AbortSignal;
  target: Target;
  rights: Rights;
  classes: RulesFile['classes'];
}

/** Text of a file that the user named or that we wrote; INVALID_FILE when it cannot be read. */
export function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    throw new HarnessError('INVALID_FILE', `${file} cannot be read`, { cause });
  }
}

/** Runs everything that needs the server alive; ends the load on every way out. */
export async function gather(input: GatherInput): Promise<Gathered> {
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
  let counters: CounterReading[] | undefined;
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
    // After the last free phase, so that counting disturbs nothing.
    if (options.perf && rights.hardwareCounters) counters = await countHardware(captures.pids, 3);
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
    ? await readOnCpu(
        captures.onCpu,
        stackClassifier([...input.classes, ...(CLASS_PRESETS[identity.kind] ?? [])]),
        resolver(maps),
      )
    : undefined;
  const trace = captures.sched ? await readSched(captures.sched) : undefined;
  return {
    captures,
    result,
    declared,
    ...(profile ? { profile } : {}),
    ...(trace ? { trace } : {}),
    ...(counters ? { counters } : {}),
    ...(hasSteps && steps ? { steps } : {}),
    mapNotes: maps.flatMap(mapNote),
    reportSeconds: (performance.now() - started) / 1e3,
  };
}

async function declaredRoles(baseUrl: string): Promise<DeclaredRoles> {
  const map = await readThreads(baseUrl);
  return new Map((map?.threads ?? []).map(({ tid, role, name }) => [tid, { role, name }]));
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
