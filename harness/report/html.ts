// The report as one self-contained HTML file: no script, no request to anywhere, light and dark, readable on a phone. Every
// figure links to the record that it comes from. Pure: records in, text out.

import type { ParityRecord, SweepRecord } from '../record/record.ts';
import type { RequestRow } from '../record/record-parts.ts';
import { readVerdict } from '../record/stored-bounds.ts';
import {
  colourOf,
  escapeHtml,
  forest,
  histogram,
  lineChart,
  type Series,
  timeline,
} from './svg.ts';
import { workOf, workTitle } from './sweep-work.ts';
import { bytesFigure, figure, SWEEP_HEAD, sweepRow } from './table.ts';
import { sweepNotices } from './warnings.ts';

/** A record with where its file lies, relative to the report. */
export interface Linked<R> {
  record: R;
  href: string;
}

export interface LinkedSweep extends Linked<SweepRecord> {
  /** Per-request data; undefined when it is not shown or has expired. */
  rows?: readonly RequestRow[];
}

const STYLE = `
:root{color-scheme:light dark;--ink:#1b1f24;--soft:#57606a;--line:#d0d7de;--paper:#fff;--card:#f6f8fa}
@media(prefers-color-scheme:dark){:root{--ink:#e6edf3;--soft:#9198a1;--line:#3d444d;--paper:#0d1117;--card:#151b23}}
body{margin:0 auto;max-width:60rem;padding:1rem;font:16px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper)}
h1{font-size:1.5rem}h2{font-size:1.2rem;margin-top:2.5rem;border-bottom:1px solid var(--line)}
h3{font-size:1rem;margin-bottom:.3rem}
a{color:inherit}p,li{max-width:45rem}.soft{color:var(--soft)}.scroll{overflow-x:auto}
table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:.9rem}
th,td{padding:.25rem .6rem;border-bottom:1px solid var(--line);text-align:right;white-space:nowrap}
th:first-child,td:first-child,td.text{text-align:left}tr.void td{color:var(--soft)}
svg{width:100%;height:auto;background:var(--card);border-radius:6px}.tick{fill:var(--soft);font-size:12px}
.grid{stroke:var(--line);stroke-width:1}.parity{stroke:var(--ink);stroke-width:1;stroke-dasharray:4 3}
.key{display:inline-block;width:.8em;height:.8em;border-radius:50%;margin-right:.3em}summary{cursor:pointer}
`;

/** The page. Sweeps and comparisons come newest first. */
export function htmlReport(
  sweeps: readonly LinkedSweep[],
  comparisons: readonly Linked<ParityRecord>[],
): string {
  const groups = new Map<string, LinkedSweep[]>();
  for (const sweep of sweeps) {
    const work = workOf(sweep.record);
    groups.set(work, [...(groups.get(work) ?? []), sweep]);
  }
  const body = [
    '<h1>mxbench</h1>',
    '<p class="soft">TTFT: request sent to first content. TPOT: (last token − first token) / (output tokens − tokens in the first event). Void cells are shown with their reason and quote no number. Marks in charts tell their value.</p>',
    ...(sweeps.length + comparisons.length === 0 ? ['<p>There is no record yet.</p>'] : []),
    ...comparisons.map(comparison),
    ...[...groups.values()].map(group),
  ];
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>mxbench report</title><link rel="icon" href="data:,"><style>${STYLE}</style></head>
<body><main>${body.join('\n')}</main></body></html>
`;
}

function nameOf({ arm, id }: SweepRecord): string {
  return `${arm.label} ${id.slice(0, 8)}`;
}

function group(sweeps: readonly LinkedSweep[]): string {
  const titles = sweeps.map(({ record }) => workTitle(record));
  const [title = ''] = titles.toSorted((a, b) => a.length - b.length);
  const chart = (label: string, of: (cell: SweepRecord['cells'][number]) => number | undefined) => {
    const series = sweeps.map(({ record }) => seriesOf(record, label, of));
    if (series.every(({ points }) => points.length === 0)) return '';
    return `<h3>${label}</h3>${lineChart(`${label}, ${title}`, series)}`;
  };
  const keys = sweeps.map(
    ({ record, href }, index) =>
      `<span><span class="key" style="background:${colourOf(index)}"></span>${link(href, nameOf(record))}</span>`,
  );
  return [
    `<section><h2>${escapeHtml(title)}</h2><p>${keys.join(' &nbsp; ')}</p>`,
    chart('TPOT mean, ms', ({ metrics }) => metrics?.tpotMs?.mean),
    chart('TTFT p50, ms', ({ metrics }) => metrics?.ttftMs?.p50),
    chart('output tokens per second', ({ metrics }) => metrics?.outputTokensPerSecond),
    ...sweeps.map(sweepDetails),
    '</section>',
  ].join('\n');
}

function seriesOf(
  record: SweepRecord,
  label: string,
  of: (cell: SweepRecord['cells'][number]) => number | undefined,
): Series {
  const points = record.cells.flatMap((cell) => {
    const value = cell.voids.length > 0 || cell.interrupted ? undefined : of(cell);
    if (value === undefined) return [];
    const title = `${nameOf(record)}, c${cell.concurrency}: ${figure(value)} (${label})`;
    return [{ x: cell.concurrency, y: value, title }];
  });
  return { name: nameOf(record), points };
}

function sweepDetails({ record, href, rows }: LinkedSweep): string {
  const head = SWEEP_HEAD.map((text) => `<th scope="col">${text}</th>`).join('');
  const lines = record.cells.map((cell) => {
    const cells = sweepRow(cell).map((text) => `<td>${escapeHtml(text)}</td>`);
    return `<tr${cell.voids.length > 0 ? ' class="void"' : ''}>${cells.join('')}</tr>`;
  });
  const notices = sweepNotices(record).map((line) => `<li>${escapeHtml(line)}</li>`);
  const { arm, environment, createdUtc } = record;
  const facts = [arm.isa, arm.activations, arm.threads === null ? null : `${arm.threads} threads`];
  return [
    `<h3>${link(href, nameOf(record))} <span class="soft">${createdUtc.slice(0, 16).replace('T', ' ')} UTC</span></h3>`,
    `<p class="soft">${escapeHtml([...facts, environment.cpuModel, bytesFigure(environment.memoryBytes)].filter(Boolean).join(', '))}</p>`,
    `<div class="scroll" tabindex="0"><table><thead><tr>${head}</tr></thead><tbody>${lines.join('')}</tbody></table></div>`,
    notices.length === 0
      ? ''
      : `<details><summary>${notices.length} notices</summary><ul>${notices.join('')}</ul></details>`,
    ...(rows === undefined ? [] : record.cells.map((cell) => requestDetails(cell, rows))),
  ].join('\n');
}

function requestDetails(cell: SweepRecord['cells'][number], rows: readonly RequestRow[]): string {
  const own = rows.filter(({ concurrency }) => concurrency === cell.concurrency);
  if (own.length === 0 || cell.voids.length > 0) return '';
  const measured = own.filter(({ phase, failure }) => phase === 'measured' && failure === null);
  const gapsMs = measured.flatMap(({ contentNs }) => contentNs.slice(1).map((gap) => gap / 1e6));
  const originNs = Math.min(...own.map(({ sentNs }) => sentNs));
  const spans = own.map((row) => ({
    lane: row.slot,
    startMs: (row.sentNs - originNs) / 1e6,
    firstMs: row.contentNs[0] === undefined ? null : (row.contentNs[0] - originNs) / 1e6,
    endMs: ((row.closedNs ?? row.sentNs) - originNs) / 1e6,
    title: `request ${row.index}, ${row.phase}, ${row.outputTokens ?? 0} tokens${row.failure === null ? '' : `, ${row.failure.code}`}`,
    failed: row.failure !== null && row.phase === 'measured',
  }));
  const name = `c${cell.concurrency}`;
  const itl =
    gapsMs.length === 0
      ? ''
      : `<h3>ITL at ${name}</h3>${histogram(`ITL at ${name}, ms`, gapsMs, 'ms')}`;
  return `<details><summary>${name}: gaps between tokens, and every request over time</summary>${itl}<h3>Requests at ${name}</h3>${timeline(`Requests at ${name} over time`, spans)}</details>`;
}

function comparison({ record, href }: Linked<ParityRecord>): string {
  const verdict = readVerdict(record);
  const title = `${record.arms.ours.label} against ${record.aa ? 'itself (noise)' : record.arms.reference.label}: ${record.scenario}`;
  const head = `<section><h2>${link(href, title)}</h2>`;
  if (verdict === undefined) return `${head}<p>Interrupted: there is no verdict.</p></section>`;
  const shown = verdict.cells.filter(
    ({ verdict: own, ratio }) => own !== 'VOID' && ratio !== undefined,
  );
  const ratios = shown.map(({ key, ratio, verdict: own }) => {
    const estimate = ratio?.estimate ?? 1;
    const [lower, upper] = [ratio?.lower ?? estimate, ratio?.upper ?? estimate];
    return { name: key, estimate, lower, upper, verdict: own };
  });
  const chart = ratios.length === 0 ? '' : forest(`Ratios, ${title}`, ratios);
  const rows = verdict.cells.map(({ key, verdict: own, ratio, measured, voided, voids }) => {
    const quoted = own !== 'VOID' && ratio !== undefined;
    const codes = [...new Set(voids.map(({ code }) => code))].join(' ');
    const cells = [
      quoted ? ratio.estimate.toFixed(3) : '–',
      quoted ? `${ratio.lower?.toFixed(3) ?? 'none'} to ${ratio.upper?.toFixed(3) ?? 'none'}` : '–',
      voided === 0 ? String(measured) : `${measured} (${voided} void)`,
      `${own} ${codes}`.trim(),
    ];
    return `<tr${quoted ? '' : ' class="void"'}><td>${escapeHtml(key)}</td>${cells.map((text) => `<td>${escapeHtml(text)}</td>`).join('')}</tr>`;
  });
  const columns = ['cell', 'ratio', 'interval', 'pairs', 'verdict'].map(
    (text) => `<th scope="col">${text}</th>`,
  );
  return [
    `${head}<p><strong>${escapeHtml(verdict.verdict)}</strong>, ${record.createdUtc.slice(0, 10)}. A ratio of 1 and above: the first is as good or better.</p>`,
    chart,
    `<div class="scroll" tabindex="0"><table><thead><tr>${columns.join('')}</tr></thead><tbody>${rows.join('')}</tbody></table></div></section>`,
  ].join('\n');
}

function link(href: string, text: string): string {
  return `<a href="${escapeHtml(href)}">${escapeHtml(text)}</a>`;
}
