// One attribution from the first look at the server to the body of its record: reach the server, hold the load, run the
// phases, read everything back while the server still lives, analyse, write the evidence, leave the machine clean.
import { mkdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import { HarnessError } from '../errors.ts';
import { analyse } from './analyse.ts';
import { type AttributeOptions, type RulesFile, rulesFileSchema } from './attribute-options.ts';
import { type AttributionBody, attributionBodySchema } from './attribution-record.ts';
import { leftBehind, listEvidence, machineState, pruneEvidence } from './evidence.ts';
import { type AttributeEvents, type Gathered, gather, readText } from './gather.ts';
import {
  type InjectionResult,
  measureInjection,
  parseInjection,
  SEAM_ROLES,
} from './injection-run.ts';
import { parsePremises } from './premise.ts';
import { ticksPerSecond } from './proc-tree.ts';
import { provenanceOf } from './provenance.ts';
import { bodyOf } from './record-body.ts';
import { earlierRuns, referenceSide, referenceTree } from './reference.ts';
import { probeRights, type Rights } from './rights.ts';
import { type RoleRules, resolveRules } from './roles.ts';
import { reachTarget, type Target } from './target.ts';
import { writeOutputs } from './write-outputs.ts';

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
  const text = readText(file);
  let value: unknown;
  try {
    value = parse(text);
  } catch (cause) {
    throw new HarnessError('INVALID_FILE', `${file} is not YAML`, { cause });
  }
  const parsed = rulesFileSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  throw new HarnessError('INVALID_FILE', `${file}: ${issue?.path.join('.')} ${issue?.message}`);
}

/** What is known before anything is measured: a wrong file or a missing right is told before a server is started. */
async function prepare(options: AttributeOptions) {
  const rules = readRules(options.rules);
  const premises =
    options.premise === undefined ? [] : parsePremises(readText(options.premise), options.premise);
  const side = options.against === undefined ? undefined : referenceSide(options.against, options);
  const tree = options.against === undefined ? undefined : referenceTree(options.against);
  const rights = await probeRights();
  if (options.perf && rights.perf === null)
    throw new HarnessError('USAGE', 'perf is not installed', {
      hint: 'Install it (Debian: apt-get install linux-perf), or leave --perf out: busy time and the waterfall work without.',
    });
  const provenance = provenanceOf(SOURCES, options.sameAs);
  return {
    rules,
    premises,
    side,
    tree,
    rights,
    provenance,
    before: machineState(watchedFolders()),
  };
}
type Prepared = Awaited<ReturnType<typeof prepare>>;

/** Where the sources of the bundled server lie. */
const SOURCES = fileURLToPath(new URL('../../../', import.meta.url));

const watchedFolders = () => [process.cwd(), tmpdir()];

/** Runs the attribution; `folder` is new and ours. Whatever was started is ended, also on the way out by an error. */
export async function attribute(
  options: AttributeOptions,
  folder: string,
  events: AttributeEvents,
  signal: AbortSignal,
): Promise<Attributed> {
  const prepared = await prepare(options);
  mkdirSync(folder, { recursive: true });
  const injected = await injection(options, events, signal);
  events.onStage('reaching the server');
  const target = await reachTarget(options, signal);
  let gathered: Gathered;
  try {
    const { rights, rules } = prepared;
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
  events.onStage('writing the evidence');
  return conclude({
    options,
    folder,
    target,
    prepared,
    gathered,
    ...(injected ? { injected } : {}),
  });
}

interface Conclusion {
  options: AttributeOptions;
  folder: string;
  target: Target;
  prepared: Prepared;
  gathered: Gathered;
  injected?: InjectionResult;
}

/** Analyses what was gathered and writes it down. */
async function conclude(input: Conclusion): Promise<Attributed> {
  const { options, folder, target, prepared, gathered, injected } = input;
  const { rights, side } = prepared;
  const name = target.identity.name;
  const analysis = analyse({
    captures: gathered.captures,
    ...(gathered.profile ? { profile: gathered.profile } : {}),
    ...(gathered.trace ? { trace: gathered.trace } : {}),
    ...(gathered.steps ? { steps: gathered.steps } : {}),
    ...(gathered.counter ? { counter: gathered.counter } : {}),
    timelines: gathered.result.timelines,
    originNs: Number(gathered.result.originNs),
    rules: resolveRules(prepared.rules.roles ?? PRESETS[target.identity.kind] ?? 'node'),
    declared: gathered.declared,
    ticksPerSecond: ticksPerSecond(),
    kernelNames: rights.kernelNames,
    premises: prepared.premises,
    ...(side
      ? { reference: { ours: name, earlier: earlierRuns(options.evidence, name, options), side } }
      : {}),
    ...(injected ? injectionEvidence(injected) : {}),
  });
  const lines = await writeOutputs(folder, name, analysis, prepared.tree);
  const left = leftBehind(prepared.before, machineState(watchedFolders()));
  const draft = await bodyOf({
    options,
    target,
    rights,
    provenance: prepared.provenance,
    analysis,
    gathered,
    lines,
    notes: notesOf(gathered, rights, left),
    ...(injected ? { injected } : {}),
    ...(side ? { reference: side.name } : {}),
  });
  writeFileSync(join(folder, 'attribution.json'), `${JSON.stringify(draft, null, 1)}\n`);
  const files = pruneEvidence(folder, await listEvidence(folder), options.keepMegabytes * 1e6);
  return { body: attributionBodySchema.parse({ ...draft, evidence: files }), folder };
}

async function injection(
  options: AttributeOptions,
  events: AttributeEvents,
  signal: AbortSignal,
): Promise<InjectionResult | undefined> {
  if (options.inject === undefined) return undefined;
  const wanted = parseInjection(options.inject);
  if (options.url !== undefined)
    throw new HarnessError(
      'USAGE',
      '--inject spins inside the bundled server, so it cannot be used with --url',
    );
  const say = (done: number, total: number) =>
    events.onStage(`injection run ${done + 1} of ${total}`);
  return measureInjection(wanted, options, say, signal);
}

/** What an injection proves: the slope at the seam's role, and for the engine that the tool finds what was put there. */
function injectionEvidence({ injection: { seam, delayUs }, slope }: InjectionResult) {
  const delayMs = delayUs / 1e3;
  return {
    slopes: new Map([[SEAM_ROLES[seam], slope]]),
    ...(seam === 'engine'
      ? { positiveControl: { injectedMs: delayMs, recoveredMs: slope.slope * delayMs } }
      : {}),
  };
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

/** What perf said beyond its usual words. */
function perfComplaints(stderr: string): string[] {
  const usual = /^(Events (en|dis)abled|\[ perf record: (Woken up|Captured))/;
  const rest = stderr.split('\n').filter((line) => line.trim() !== '' && !usual.test(line));
  return rest.length > 0 ? [`perf said: ${rest.slice(0, 4).join(' ')}`] : [];
}
