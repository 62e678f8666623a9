// What a person is shown of an attribution, as tables of plain text cells: busy, classes and functions, waiting, waterfall,
// verdicts, gates. It formats numbers and nothing else; whoever prints it chooses the borders.
import type { AttributionBody } from './attribution-record.ts';
import { ms, percent, summaryLines, us } from './summary-lines.ts';

interface SummaryTable {
  title: string;
  head: string[];
  rows: string[][];
}

export interface Summary {
  tables: SummaryTable[];
  lines: string[];
}

const range = ({ low, high }: { low: number; high: number }) =>
  `${percent(low)} to ${percent(high)}`;
const rank = ({ best, worst }: { best: number; worst: number }) =>
  best === worst ? String(best) : `${best}-${worst}`;
/** The end of a long symbol says more than its beginning, but both are kept. */
const short = (text: string, length = 60) =>
  text.length <= length ? text : `${text.slice(0, length - 24)}…${text.slice(-23)}`;

function busyTable(body: AttributionBody): SummaryTable {
  return {
    title: `Busy, exact (step ${ms(body.stepMs)} ms)`,
    head: [
      'role',
      'threads',
      'cores',
      'ms/step',
      'us/token',
      'queue ms/step',
      'slices/step',
      'kappa',
      'work',
      'spin',
    ],
    rows: body.busy.map((role) => {
      const profile = body.profile.find((one) => one.role === role.role);
      return [
        role.role,
        String(role.threads),
        role.cores.toFixed(3),
        ms(role.msPerStep),
        us(role.usPerToken),
        ms(role.queueMsPerStep),
        role.slicesPerStep.toFixed(1),
        profile?.kappa?.toFixed(3) ?? '-',
        profile ? ms(profile.workMsPerStep) : '-',
        profile ? ms(profile.spinMsPerStep) : '-',
      ];
    }),
  };
}

function classTable(body: AttributionBody): SummaryTable {
  return {
    title: `Where (${body.events.join(', ')} at ${body.workload.frequencyHz} Hz)`,
    head: ['role', 'class', 'ms/step', 'share', '95 %', 'samples', 'rank'],
    rows: body.profile.flatMap((profile) =>
      profile.classes
        .filter((one) => one.share >= 0.01)
        .map((one) => [
          profile.role,
          one.waiting ? `${one.class} (waiting)` : one.class,
          ms(one.msPerStep),
          percent(one.share),
          range(one.interval),
          String(one.samples),
          rank(one.rank),
        ]),
    ),
  };
}

function functionTable(body: AttributionBody, each: number): SummaryTable {
  return {
    title: 'Functions (self time)',
    head: ['role', 'function', 'ms/step', 'share', '95 %', 'rank', 'where'],
    rows: body.profile.flatMap((profile) =>
      profile.functions
        .slice(0, each)
        .filter((f) => f.samples > 2)
        .map((f) => [
          profile.role,
          short(f.symbol),
          ms(f.msPerStep),
          percent(f.share),
          range(f.interval),
          rank(f.rank),
          short(f.where, 50),
        ]),
    ),
  };
}

function waitingTables({ waiting }: AttributionBody): SummaryTable[] {
  if (!waiting) return [];
  const stages: SummaryTable = {
    title: 'Stages of a step, us: mean and its four states',
    head: ['stage', 'steps', 'mean', 'running', 'woken', 'preempted', 'asleep', 'closure'],
    rows: waiting.stages.map((stage) => [
      stage.stage,
      String(stage.steps),
      us(stage.meanUs),
      us(stage.running.meanUs),
      us(stage.woken.meanUs),
      us(stage.preempted.meanUs),
      us(stage.asleep.meanUs),
      us(stage.worstClosureUs),
    ]),
  };
  const hops: SummaryTable = {
    title: 'Wake-up to running, us',
    head: [
      'from',
      'to',
      'count',
      'p50',
      'p99',
      'mean',
      'own mean',
      'strangers',
      'who ran meanwhile',
    ],
    rows: waiting.hops.slice(0, 10).map((hop) => [
      hop.from,
      hop.to,
      String(hop.count),
      us(hop.p50Us),
      us(hop.p99Us),
      us(hop.meanUs),
      us(hop.ownMeanUs),
      percent(hop.foreignShare),
      hop.meanwhile
        .slice(0, 3)
        .map((one) => one.comm)
        .join(', '),
    ]),
  };
  return waiting.stages.length > 0 ? [stages, hops] : [hops];
}

function waterfallTable({ waterfall }: AttributionBody): SummaryTable[] {
  if (!waterfall) return [];
  const { tpot } = waterfall;
  const part = (name: string, value: number, p50 = '', p99 = '') => [
    name,
    ms(value),
    tpot.measuredMs > 0 ? percent(value / tpot.measuredMs) : '-',
    p50,
    p99,
  ];
  const stage = (name: string) => waterfall.loop.find((one) => one.stage === name);
  return [
    {
      title: `TPOT ${ms(tpot.measuredMs)} ms over ${tpot.requests} requests, ${percent(tpot.explainedShare)} explained`,
      head: ['part of TPOT', 'ms', 'share', 'p50 a step', 'p99 a step'],
      rows: [
        ...tpot.parts.map((one) =>
          part(one.stage, one.ms, ms(stage(one.stage)?.p50Ms), ms(stage(one.stage)?.p99Ms)),
        ),
        part('change of the way out', tpot.wayChangeMs),
        part('unexplained', tpot.unexplainedMs),
      ],
    },
    {
      title: 'The way of a token to its client (shifts tokens, not in TPOT unless it changes)',
      head: ['stage', 'mean ms', '95 %', 'p50', 'p99'],
      rows: waterfall.way.map((one) => [
        one.stage,
        ms(one.ms),
        `${ms(one.interval.low)} to ${ms(one.interval.high)}`,
        ms(one.p50Ms),
        ms(one.p99Ms),
      ]),
    },
  ];
}

function phaseTable(body: AttributionBody): SummaryTable {
  return {
    title: `Phases at c${body.workload.concurrency}`,
    head: [
      'phase',
      'seconds',
      'steps',
      'tokens',
      'TPOT ms',
      'server cores',
      'client cores',
      'CPU/step',
      'TPOT change',
    ],
    rows: body.phases.map((phase) => {
      const cost = body.overhead.find((one) => one.phase === phase.name);
      return [
        phase.name,
        phase.seconds.toFixed(2),
        String(phase.steps),
        String(phase.tokens),
        phase.tpotMs === null ? '-' : `${ms(phase.tpotMs)} ± ${ms(phase.tpotSeMs)}`,
        phase.serverCores.toFixed(3),
        phase.clientCores.toFixed(3),
        cost ? `${cost.cpuChange >= 0 ? '+' : ''}${percent(cost.cpuChange)}` : '',
        cost ? ms(cost.tpotChangeMs) : '',
      ];
    }),
  };
}

/** Everything that the terminal shows of a record, most important last. */
export function summarise(body: AttributionBody): Summary {
  return {
    tables: [
      phaseTable(body),
      busyTable(body),
      ...(body.profile.length > 0 ? [classTable(body), functionTable(body, 6)] : []),
      ...waitingTables(body),
      ...waterfallTable(body),
    ],
    lines: summaryLines(body),
  };
}
