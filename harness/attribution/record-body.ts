// Shapes an analysis as the body of its record. It decides nothing and leaves out only what the record has no field for.
import { readlinkSync } from 'node:fs';
import type { DriveResult } from '../load/drive.ts';
import { buildIdOf } from './addr2line.ts';
import type { AttributeOptions } from './attribute-options.ts';
import type { AttributionBody } from './attribution-record.ts';
import type { Analysis } from './capture.ts';
import type { GapPart } from './gap.ts';
import { type CounterReading, countersByRole } from './hardware.ts';
import type { InjectionResult } from './injection-run.ts';
import type { OnCpuProfile } from './on-cpu.ts';
import type { Provenance } from './provenance.ts';
import type { Rights } from './rights.ts';
import { UNMAPPED } from './roles.ts';
import type { Target } from './target.ts';
import { type FunctionLines, functionKey } from './write-outputs.ts';

export interface BodyInput {
  options: AttributeOptions;
  target: Target;
  rights: Rights;
  provenance: Provenance;
  analysis: Analysis;
  gathered: { result: DriveResult; profile?: OnCpuProfile; counters?: CounterReading[] };
  lines: FunctionLines;
  notes: string[];
  injected?: InjectionResult;
  /** Name of the other side of the gap. */
  reference?: string;
}

const finite = (value: number) => (Number.isFinite(value) ? value : null);

/** The body without its evidence list, which is made last. */
export async function bodyOf(input: BodyInput): Promise<AttributionBody> {
  const { options, target, analysis, rights, gathered } = input;
  const { timelines } = gathered.result;
  const cover = gathered.profile?.folded.coverage;
  return {
    target: {
      name: target.identity.name,
      commandLine: target.command,
      buildIds: await buildIds(analysis),
    },
    workload: {
      concurrency: options.concurrency,
      inputTokens: options.inputTokens,
      outputTokens: options.outputTokens,
      frequencyHz: options.frequency,
      requests: timelines.length,
      failed: timelines.filter((t) => t.failure !== undefined && t.failure.code !== 'aborted')
        .length,
    },
    provenance: input.provenance,
    rights,
    phases: analysis.phases.map(({ tpot, ...phase }) => ({
      ...phase,
      tpotMs: finite(tpot.mean),
      tpotSeMs: finite(tpot.se),
    })),
    stepMs: analysis.stepMs,
    overhead: overheadOf(analysis),
    busy: analysis.busy.map(
      ({ role, threads, cores, msPerStep, usPerToken, queueMsPerStep, slicesPerStep, cost }) => ({
        role,
        threads,
        cores,
        msPerStep,
        usPerToken,
        queueMsPerStep,
        slicesPerStep,
        cost,
      }),
    ),
    diedMs: analysis.diedNs / 1e6,
    profile: analysis.profiles.map((profile) => profileOf(profile, input.lines)),
    jsNamed: cover && cover.jsSamples > 0 ? 1 - cover.jsUnresolved / cover.jsSamples : null,
    events: (gathered.profile?.events ?? [])
      .map((event) => event.name)
      .filter((name) => !name.startsWith('dummy')),
    waiting: waitingOf(analysis),
    waterfall: analysis.waterfall ?? null,
    streams: analysis.streams,
    decodeRun: analysis.decodeRun ?? null,
    gap: gapOf(analysis, input.reference ?? ''),
    hardware: gathered.counters
      ? countersByRole(gathered.counters, (tid) => analysis.roles.get(tid) ?? UNMAPPED)
      : null,
    injection: injectionOf(input.injected),
    host: {
      cpus: analysis.host.cpus,
      psiSome: analysis.host.hasPsi ? analysis.host.psiSome : null,
      strangers: analysis.host.strangers,
      steal: analysis.host.steal,
    },
    gates: analysis.gates,
    judgements: analysis.judgements,
    evidence: [],
    notes: input.notes,
  };
}

function gapOf({ gap }: Analysis, reference: string): AttributionBody['gap'] {
  if (!gap) return null;
  const part = ({ ms, se, interval }: GapPart) => ({
    ms,
    se: finite(se),
    interval: { low: finite(interval.low), high: finite(interval.high) },
  });
  const { method, runs, total, span, residual } = gap;
  return {
    reference,
    method,
    runs,
    total: part(total),
    span: part(span),
    residual: part(residual),
  };
}

function injectionOf(injected: InjectionResult | undefined): AttributionBody['injection'] {
  if (!injected) return null;
  const { slope, se, interval, verdict } = injected.slope;
  return { ...injected.injection, runs: injected.runs, slope, se, interval, verdict };
}

function profileOf(
  profile: Analysis['profiles'][number],
  lines: FunctionLines,
): AttributionBody['profile'][number] {
  const { role, samples, classes, functions, workMsPerStep, spinMsPerStep } = profile;
  return {
    role,
    samples,
    kappa: profile.kappa ?? null,
    missingNsPerSlice: profile.missingNsPerSlice ?? null,
    workMsPerStep,
    spinMsPerStep,
    classes,
    functions: functions.map(({ addresses: _, ...f }) => ({
      ...f,
      where: lines.get(functionKey(f)) ?? 'unknown',
    })),
  };
}

function waitingOf({ waiting }: Analysis): AttributionBody['waiting'] {
  if (!waiting) return null;
  const { inconsistent: _, closureUs: __, stages, ...rest } = waiting;
  return {
    ...rest,
    stages: stages.map(({ states, latencyDraws: ___, ...stage }) => ({ ...stage, ...states })),
  };
}

/** What each profiled phase cost: CPU per step and TPOT against the free phases around it. */
function overheadOf(analysis: Analysis): AttributionBody['overhead'] {
  const free = analysis.phases.filter((phase) => phase.name.startsWith('free'));
  const perStep = (list: typeof free) => {
    const steps = list.reduce((sum, p) => sum + p.steps, 0);
    return list.reduce((sum, p) => sum + p.serverCores * p.seconds, 0) / Math.max(1, steps);
  };
  const tpots = free.map((phase) => phase.tpot.mean).filter(Number.isFinite);
  const tpot = tpots.reduce((a, b) => a + b, 0) / Math.max(1, tpots.length);
  return analysis.phases
    .filter((phase) => !phase.name.startsWith('free'))
    .map((phase) => ({
      phase: phase.name,
      cpuChange: perStep(free) > 0 ? perStep([phase]) / perStep(free) - 1 : 0,
      tpotChangeMs: tpots.length > 0 ? finite(phase.tpot.mean - tpot) : null,
    }));
}

/** Build ids of the binaries that the top functions lie in: which build was measured. */
async function buildIds(analysis: Analysis): Promise<AttributionBody['target']['buildIds']> {
  const dsos = new Set(
    analysis.profiles
      .flatMap((p) => p.functions.map((f) => f.dso))
      .filter((dso) => dso.startsWith('/')),
  );
  const found: AttributionBody['target']['buildIds'] = [];
  for (const dso of dsos) {
    const buildId = await buildIdOf(dso);
    if (buildId !== undefined) found.push({ dso: shorten(dso), buildId });
  }
  return found;
}

/** The file's own name: where it lies is no matter of the record. */
function shorten(dso: string): string {
  const target = linkTarget(dso) ?? dso;
  return target.slice(target.lastIndexOf('/') + 1);
}

function linkTarget(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined;
  }
}
