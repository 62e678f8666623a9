// `bench records list | show | verify | check`: looks at records and proves that they are what was written.
import { EXIT, HarnessError } from '../errors.ts';
import { canonicalJson } from '../record/canonical-json.ts';
import { type ChainLink, examineChain } from '../record/chain.ts';
import { findRecord, listPaths, readAll, readRows } from '../record/store.ts';
import { recordList } from '../report/table.ts';
import { judgeAgain } from '../sweep/campaign-draft.ts';
import { unprovenFields } from '../sweep/recompute.ts';

interface Where {
  records: string;
  json?: boolean;
}

/** One line a record, newest last. */
export function listCommand({ records, json }: Where): number {
  const all = [...readAll(records)].flatMap((found) => ('problem' in found ? [] : [found.record]));
  if (json === true)
    for (const { id, kind, createdUtc } of all)
      console.log(JSON.stringify({ id, kind, createdUtc }));
  else console.log(all.length === 0 ? `There is no record in ${records}.` : recordList(all));
  return EXIT.ok;
}

/** The record as indented JSON; per-request data only when it is asked for. */
export function showCommand(id: string, options: Where & { raw?: boolean }): number {
  const { record } = findRecord(options.records, id);
  const short =
    record.kind === 'sweep' && record.raw.kind === 'inline' && options.raw !== true
      ? {
          ...record,
          raw: { kind: 'inline', requests: `${record.raw.requests.length} rows; see --raw` },
        }
      : record;
  console.log(JSON.stringify(short, null, 2));
  return EXIT.ok;
}

/** Recomputes the numbers of a record from its requests. */
export function verifyCommand(id: string, { records }: Where): number {
  const { record, path } = findRecord(records, id);
  const rows = readRows(records, record);
  if (record.kind === 'parity') {
    if (canonicalJson(judgeAgain(record)) !== canonicalJson(record.verdict)) {
      throw new HarnessError(
        'INVALID_FILE',
        `${path}: its verdict does not follow from its pairs.`,
        {
          hint: 'It was judged by another version of the method; compare its methodology.',
        },
      );
    }
    console.log(
      `${path}: content and id agree, and the verdict follows from ${record.pairs.length} pairs.`,
    );
    return EXIT.ok;
  }
  if (record.kind !== 'sweep') {
    console.log(`${path}: content and id agree.`);
    return EXIT.ok;
  }
  if (rows === undefined) {
    console.log(
      `${path}: content and id agree; raw: expired, so its numbers cannot be computed again.`,
    );
    return EXIT.ok;
  }
  const unproven = unprovenFields(record, rows);
  if (unproven.length > 0) {
    throw new HarnessError(
      'INVALID_FILE',
      `${path}: ${unproven.length} numbers do not follow from its requests: ${unproven.slice(0, 5).join(', ')}.`,
      { hint: 'Restore the record and its raw data, or measure again.' },
    );
  }
  console.log(
    `${path}: content and id agree, and all numbers follow from ${rows.length} requests.`,
  );
  return EXIT.ok;
}

/** Reads every record of the folder; exit 2 when one is broken or missing. */
export function checkCommand({ records }: Where): number {
  const problems: string[] = [];
  const links: ChainLink[] = [];
  let newerMinor = 0;
  for (const found of readAll(records)) {
    if ('problem' in found) {
      problems.push(found.problem);
      continue;
    }
    const { id, chain, kind, environment } = found.record;
    links.push({ id, chain, kind, envClass: environment.envClass });
    newerMinor += found.newerMinor ? 1 : 0;
  }
  const { heads, missing } = examineChain(links);
  for (const { id, namedBy } of missing) {
    problems.push(
      `Record ${id.slice(0, 12)} is missing; ${namedBy.slice(0, 12)} names it as its predecessor.`,
    );
  }
  for (const problem of problems) console.error(`error: ${problem}`);
  for (const { series, ids } of heads.filter((series) => series.ids.length > 1)) {
    console.log(
      `${series} has ${ids.length} heads: ${ids.map((id) => id.slice(0, 12)).join(', ')} (a fork is legal).`,
    );
  }
  if (newerMinor > 0)
    console.log(
      `${newerMinor} records are of a newer minor version; update bench to see all of them.`,
    );
  console.log(`${links.length} of ${listPaths(records).length} records are whole.`);
  return problems.length === 0 ? EXIT.ok : EXIT.usage;
}
