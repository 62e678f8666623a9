// A flame graph as one HTML file that needs nothing else: zoom by click or Enter, search, ms per step in every tooltip.
// With a reference it is a differential graph: red costs more, blue less, grey is within noise. Pure: returns text.
import type { FlameDiffNode, FlameNode } from './flame-tree.ts';
import { FLAME_SCRIPT, FLAME_STYLE } from './flame-viewer.ts';

interface Shown {
  /** Name. */
  n: string;
  /** Width: ms per step (the larger side of a difference). */
  w: number;
  /** Tooltip. */
  t: string;
  /** Colour: 0 is by name, else -1 to 1 for a difference, 2 for "within noise". */
  d?: number;
  c: Shown[];
}

/** Boxes under this share of the whole are not drawn: they could not be seen. */
const MIN_SHARE = 0.0005;

function show(node: FlameNode, total: number): Shown {
  return {
    n: node.name,
    w: node.ms,
    t: `${node.name}: ${node.ms.toFixed(4)} ms/step, ${node.samples} samples, ${((100 * node.ms) / total).toFixed(2)} %`,
    c: node.children.filter((c) => c.ms > total * MIN_SHARE).map((c) => show(c, total)),
  };
}

function showDiff(node: FlameDiffNode, total: number, most: number): Shown {
  const { before, after, interval, significant } = node;
  const change = after - before;
  return {
    n: node.name,
    w: Math.max(before, after),
    t: `${node.name}: ${before.toFixed(4)} to ${after.toFixed(4)} ms/step, ${change >= 0 ? '+' : ''}${change.toFixed(4)} [${interval.low.toFixed(4)}, ${interval.high.toFixed(4)}]${significant ? '' : ', within noise'}`,
    d: significant ? Math.max(-1, Math.min(1, change / most)) || 0.01 : 2,
    c: node.children
      .filter((c) => Math.max(c.before, c.after) > total * MIN_SHARE)
      .map((c) => showDiff(c, total, most)),
  };
}

const escapeHtml = (text: string) =>
  text.replace(
    /[&<>"]/g,
    (c) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[c] ?? c,
  );

function page(title: string, note: string, data: Shown): string {
  // "<" is escaped inside the data, so that a symbol such as operator</script> cannot end the element.
  const json = JSON.stringify(data).replaceAll('<', '\\u003c');
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${escapeHtml(title)}</title><style>${FLAME_STYLE}</style></head><body>
<h1>${escapeHtml(title)}</h1><p>${escapeHtml(note)}</p>
<div id="bar"><input id="search" type="search" placeholder="Search functions" aria-label="Search functions">
<button id="reset" type="button">Whole graph</button></div>
<div id="graph"></div><div id="info" role="status"></div>
<script type="application/json" id="data">${json}</script><script>${FLAME_SCRIPT}</script></body></html>
`;
}

/** The flame graph of one capture. */
export function flameHtml(title: string, tree: FlameNode): string {
  const note = `${tree.ms.toFixed(3)} ms of CPU per step in ${tree.samples} samples; a role's width is exact, its inside is split by samples.`;
  return page(title, note, show(tree, tree.ms || 1));
}

/** The differential flame graph of two captures in ms per step. */
export function flameDiffHtml(title: string, tree: FlameDiffNode): string {
  const changes: number[] = [];
  const collect = (node: FlameDiffNode) => {
    if (node.significant) changes.push(Math.abs(node.after - node.before));
    node.children.forEach(collect);
  };
  collect(tree);
  const note = `${tree.before.toFixed(3)} to ${tree.after.toFixed(3)} ms of CPU per step. Red costs more, blue less, grey is within the noise of the samples.`;
  const total = Math.max(tree.before, tree.after) || 1;
  return page(
    title,
    note,
    showDiff(
      tree,
      total,
      changes.reduce((a, b) => Math.max(a, b), 1e-9),
    ),
  );
}
