// Stored comparisons in the form that the gate takes. Pure.
import { findAxis, PRIMARY_AXES } from '../parity/axis.ts';
import { type AaRun, calibrateCells } from '../parity/calibration.ts';
import type { GateRecord } from '../parity/gate.ts';
import type { MeasuredPair } from '../parity/pairs.ts';
import type { SessionBound } from '../parity/ratchet.ts';
import { VOID_CODES, type VoidCode } from '../parity/void-codes.ts';
import type { ParityRecord } from '../record/record.ts';
import { storedBounds } from '../record/stored-bounds.ts';

/** The pairs as they were measured. */
export function pairsOf({ pairs }: ParityRecord): MeasuredPair[] {
  return pairs.map(({ requests, replaces, voids, ...rest }) => ({
    ...rest,
    ...(requests === undefined ? {} : { requests }),
    ...(replaces === undefined ? {} : { replaces }),
    voids: voids.map(({ code, arm, detail }) => ({
      code,
      ...(arm === undefined ? {} : { arm }),
      ...(detail === undefined ? {} : { detail }),
    })),
  }));
}

/** One attempt for the gate. */
export function gateRecord(record: ParityRecord): GateRecord {
  const { workload, plan, nonBindingReasons } = record;
  const requests = workload.concurrencies.map((c, at) => [c, workload.requestsPerCell[at] ?? 0]);
  return {
    id: record.id,
    scenario: record.scenario,
    env: record.environment.envClass,
    methodology: record.methodology,
    harnessDigest: record.harness.sourceSha256,
    residency: plan.residency,
    seed: plan.seed,
    unit: 'pair',
    last: record.lastLook,
    requestsPerPair: Object.fromEntries(requests),
    voids: nonBindingReasons.filter(isVoidCode).map((code) => ({ code })),
    pairs: pairsOf(record),
  };
}

function isVoidCode(code: string): code is VoidCode {
  return (VOID_CODES as readonly string[]).includes(code);
}

/** The newest A/A run of the same work on the same class of machine; undefined when there is none. */
export function aaRunFor(
  wanted: GateRecord,
  records: readonly ParityRecord[],
  ephemeral: boolean,
): AaRun | undefined {
  const runs = records.filter(
    ({ aa, scenario, environment }) =>
      aa && scenario === wanted.scenario && environment.envClass === wanted.env,
  );
  const newest = runs.toSorted((a, b) => (a.createdUtc < b.createdUtc ? 1 : -1))[0];
  if (newest === undefined) return undefined;
  const boots = new Set(runs.map(({ environment }) => environment.bootIdHash)).size;
  return { ...aaRunOf(newest), boots, ephemeral };
}

/** One A/A run by itself. */
export function aaRunOf(record: ParityRecord): AaRun {
  const pairs = pairsOf(record);
  const axes = PRIMARY_AXES.flatMap((id) => findAxis(id) ?? []);
  return {
    env: record.environment.envClass,
    scenario: record.scenario,
    measuredAtMs: Date.parse(record.createdUtc),
    pairs: pairs.length,
    launches: new Set(pairs.map(({ launch }) => launch)).size,
    boots: 1,
    ephemeral: false,
    harnessDigest: record.harness.sourceSha256,
    cells: calibrateCells(axes, record.workload.concurrencies, pairs),
  };
}

/** Earlier lower bounds of a cell, for floors that are too low. */
export function historyOf(
  wanted: GateRecord,
  records: readonly ParityRecord[],
): (key: string) => SessionBound[] {
  const sessions = records.filter(
    ({ aa, scenario, environment, binding }) =>
      !aa && binding && scenario === wanted.scenario && environment.envClass === wanted.env,
  );
  return (key) =>
    sessions.flatMap((record) => {
      const lower = storedBounds(record).find((cell) => cell.key === key)?.lower;
      if (lower === undefined || lower === null) return [];
      const { id, environment, createdUtc } = record;
      const measuredAtMs = Date.parse(createdUtc);
      return [{ record: id, bootId: environment.bootIdHash, measuredAtMs, lower }];
    });
}
