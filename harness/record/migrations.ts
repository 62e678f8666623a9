// Older records, read by today's code. Bytes on disk are never rewritten: an upgrade is a pure function from one major
// version to the next, applied when a record is read. Minor versions need none, since they only add optional fields.

export interface SchemaVersion {
  major: number;
  minor: number;
}

export type Json = Record<string, unknown>;
/** Upgrades by the major version that they start from. */
export type Migrations = Readonly<Record<number, (record: Json) => Json>>;

export const CURRENT: SchemaVersion = { major: 1, minor: 0 };
export const MIGRATIONS: Migrations = {};

/** The version in "mxbench-record/1.0", or undefined when it is not one of ours. */
export function versionOf(schema: unknown): SchemaVersion | undefined {
  const match = /^mxbench-record\/(\d{1,4})\.(\d{1,4})$/.exec(String(schema));
  return match ? { major: Number(match[1]), minor: Number(match[2]) } : undefined;
}

export interface Upgraded {
  record: Json;
  /** The record is of a newer minor version: what it holds beyond ours is not shown. */
  newerMinor: boolean;
}

/**
 * The record in the current major version. Throws a RangeError with one sentence when the version is unknown, newer than
 * ours, or older with no way up: such a record is refused, never read as empty.
 */
export function upgrade(
  record: Json,
  migrations: Migrations = MIGRATIONS,
  current: SchemaVersion = CURRENT,
): Upgraded {
  const version = versionOf(record['schema']);
  if (version === undefined) {
    throw new RangeError(
      `its schema is ${JSON.stringify(record['schema'])}, not mxbench-record/N.M`,
    );
  }
  if (version.major > current.major) {
    throw new RangeError(
      `its schema is ${record['schema']}; this version of bench reads up to ${current.major}.x, so update bench`,
    );
  }
  let upgraded = record;
  for (let major = version.major; major < current.major; major += 1) {
    const step = migrations[major];
    if (step === undefined)
      throw new RangeError(`its schema ${record['schema']} can no longer be read`);
    upgraded = step(upgraded);
  }
  return {
    record: upgraded,
    newerMinor: version.major === current.major && version.minor > current.minor,
  };
}
