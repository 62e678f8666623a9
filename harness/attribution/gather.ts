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
import { type CounterPoint, MetricsCollector } from './peer-metrics.ts';
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
  /** The step counter of a server without a step trace. */
  counter?: CounterPoint[];
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
  const { options, events, signal, target } = input;
  const profiled = options.perf ? options.duration + options.schedSeconds : 0;
  events.onStage('a first round, to learn the pace');
  const load = await SteadyLoad.start({
    baseUrl: target.baseUrl,
    identity: target.identity,
    concurrency: options.concurrency,
    inputTokens: options.inputTokens,
    outputTokens: options.outputTokens,
    seed: options.seed,
    requestTimeoutMs: options.timeout * 1_000,
    seconds: 2 * options.freeSeconds + profiled,
    signal,
  });
  let measured: MeasuredLoad;
  try {
    measured = await measure(input);
  } catch (error) {
    // The reason is this error, not that the load ended with it.
    await load.stop().catch(() => undefined);
    if (signal.aborted)
      throw new HarnessError('INTERRUPTED', 'Interrupted before the last phase.', {
        hint: 'An attribution needs all its phases, so no record was written.',
      });
    throw error;
  }
  const result = await load.stop();
  events.onStage('reading the recordings');
  return { ...measured, result, ...(await readBack(input, measured.captures)) };
}

type MeasuredLoad = Pick<Gathered, 'captures' | 'steps' | 'counter' | 'counters' | 'declared'>;

/** The phases under the load, with what the server itself says of its steps and threads. */
async function measure(input: GatherInput): Promise<MeasuredLoad> {
  const { options, folder, events, signal, target, rights } = input;
  const collector = new StepCollector(target.baseUrl);
  const metrics = new MetricsCollector(target.baseUrl);
  const hasSteps = await collector.start();
  if (!hasSteps) await metrics.start();
  try {
    const declared = await declaredRoles(target.baseUrl);
    const captures = await runPhases({
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
    const points = await metrics.stop();
    const steps = await collector.stop();
    // After the last free phase, so that counting disturbs nothing.
    const counters =
      options.perf && rights.hardwareCounters ? await countHardware(captures.pids, 3) : undefined;
    return {
      captures,
      declared,
      ...(hasSteps ? { steps } : {}),
      ...(points.length > 1 ? { counter: points } : {}),
      ...(counters ? { counters } : {}),
    };
  } finally {
    await metrics.stop();
    collector.end();
  }
}

/** Reads the recordings while the server lives: its function names die with it. */
async function readBack(
  input: GatherInput,
  captures: PhaseCaptures,
): Promise<Pick<Gathered, 'profile' | 'trace' | 'mapNotes' | 'reportSeconds'>> {
  const started = performance.now();
  const maps = copyPerfMaps(captures.pids, input.folder).map((file) => ({
    file,
    map: parsePerfMap(readText(file)),
  }));
  const classify = stackClassifier([
    ...input.classes,
    ...(CLASS_PRESETS[input.target.identity.kind] ?? []),
  ]);
  const profile = captures.onCpu
    ? await readOnCpu(captures.onCpu, classify, resolver(maps))
    : undefined;
  const trace = captures.sched ? await readSched(captures.sched) : undefined;
  return {
    ...(profile ? { profile } : {}),
    ...(trace ? { trace } : {}),
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
