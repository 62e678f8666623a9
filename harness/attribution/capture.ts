// What goes into the analysis of one capture, and what comes out. Types only.
import type { StepRecord } from '../../server/protocol/step-trace.ts';
import type { RequestTimeline } from '../client/timeline.ts';
import type { RoleCost } from './analyse-busy.ts';
import type { Waiting } from './analyse-waiting.ts';
import type { Judgement } from './decision.ts';
import type { Gap, GapRun, GapSide } from './gap.ts';
import type { CaptureFacts, Gate, HostFacts, PhaseMean } from './gates.ts';
import type { StreamPace } from './load-window.ts';
import type { OnCpuProfile } from './on-cpu.ts';
import type { CounterPoint } from './peer-metrics.ts';
import type { PhaseCaptures } from './phases.ts';
import type { Premise } from './premise.ts';
import type { Measured } from './premise-evidence.ts';
import type { RoleProfile } from './role-profile.ts';
import type { DeclaredRoles, RoleRule } from './roles.ts';
import type { SchedTrace } from './sched-record.ts';
import type { Waterfall } from './waterfall.ts';

export interface HostSummary extends HostFacts {
  hasPsi: boolean;
}

export interface CaptureInput {
  captures: PhaseCaptures;
  profile?: OnCpuProfile;
  trace?: SchedTrace;
  /** Absent where the server has no step trace. */
  steps?: readonly StepRecord[];
  /** The server's own step counter over time, where its metrics have one. */
  counter?: readonly CounterPoint[];
  timelines: readonly RequestTimeline[];
  originNs: number;
  rules: readonly RoleRule[];
  declared: DeclaredRoles;
  ticksPerSecond: number;
  kernelNames: boolean;
  premises: readonly Premise[];
  slopes?: Measured['slopes'];
  /** The other side of a gap, and our own earlier captures of the same load. */
  reference?: { ours: string; earlier: readonly GapRun[]; side: GapSide };
  positiveControl?: CaptureFacts['positiveControl'];
}

export interface PhaseSummary {
  name: string;
  seconds: number;
  steps: number;
  stepsFrom: 'engine counter' | 'server metrics' | 'streams';
  tokens: number;
  tpot: PhaseMean;
  serverCores: number;
  clientCores: number;
}

export interface Analysis {
  phases: PhaseSummary[];
  stepMs: number;
  roles: Map<number, string>;
  busy: RoleCost[];
  diedNs: number;
  profiles: RoleProfile[];
  waiting?: Waiting;
  waterfall?: Waterfall;
  streams: StreamPace;
  decodeRun?: GapRun;
  gap?: Gap;
  host: HostSummary;
  gates: Gate[];
  judgements: Judgement[];
}
