// A flame graph as one HTML file that needs nothing else: zoom by click or Enter, search, ms per step in every tooltip.
// With a reference it is a differential graph: red costs more, blue less, grey is within noise. Pure: returns text.
import type { FlameDiffNode, FlameNode } from './flame-tree.ts';

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

const STYLE = `
:root{color-scheme:light dark}
body{font:13px system-ui,sans-serif;margin:16px}
h1{font-size:16px;margin:0 0 4px}p{margin:0 0 12px;color:GrayText}
#bar{display:flex;gap:8px;margin-bottom:8px}input{flex:0 1 280px;font:inherit}
#graph{position:relative;width:100%}
.b{position:absolute;height:17px;overflow:hidden;white-space:nowrap;font-size:11px;line-height:17px;padding:0 3px;
box-sizing:border-box;border:0;border-right:1px solid Canvas;text-align:left;color:#111;cursor:pointer;border-radius:1px}
.b:focus-visible{outline:2px solid Highlight;z-index:1}.dim{opacity:.25}#info{min-height:2.6em;margin-top:8px;word-break:break-all}`;

const SCRIPT = `
const data=JSON.parse(document.getElementById('data').textContent),graph=document.getElementById('graph'),
info=document.getElementById('info'),search=document.getElementById('search');
let path=[data];
function hue(s){let h=0;for(const c of s)h=(h*31+c.charCodeAt(0))>>>0;return h}
function colour(x){if(x.d===undefined){const h=hue(x.n);return 'hsl('+(20+h%40)+' 85% '+(62+h%13)+'%)'}
if(x.d===2)return '#bbb';return x.d>0?'hsl(5 80% '+(82-30*x.d)+'%)':'hsl(215 80% '+(82+30*x.d)+'%)'}
function draw(){graph.textContent='';const top=path[path.length-1],q=search.value.toLowerCase();let deepest=0,hit=0;
function box(x,left,width,row,isUp){if(width<0.05)return;deepest=Math.max(deepest,row);
const b=document.createElement('button');b.className='b';b.style.left=left+'%';b.style.width=width+'%';
b.style.top=row*18+'px';b.style.background=colour(x);b.textContent=width>1.2?x.n:'';b.title=x.t;b.setAttribute('aria-label',x.t);
if(q&&!x.n.toLowerCase().includes(q))b.classList.add('dim');
b.onclick=()=>{path=isUp?path.slice(0,path.indexOf(x)+1):trail(x);draw()};b.onfocus=b.onmouseenter=()=>{info.textContent=x.t};
graph.append(b)}
function walk(x,left,width,row){box(x,left,width,row,false);let at=left;
for(const c of x.c){const w=width*c.w/x.w;walk(c,at,w,row+1);at+=w}}
path.slice(0,-1).forEach((x,i)=>box(x,0,100,i,true));walk(top,0,100,path.length-1);
function sum(x,inside){const m=!inside&&x.n.toLowerCase().includes(q);if(m)hit+=x.w;for(const c of x.c)sum(c,inside||m)}
if(q){sum(top,false);info.textContent='"'+search.value+'": '+hit.toFixed(4)+' ms/step'}
graph.style.height=(deepest+1)*18+'px'}
function trail(target){const found=[];(function go(x){found.push(x);if(x===target)return true;
for(const c of x.c)if(go(c))return true;found.pop();return false})(data);return found}
document.getElementById('reset').onclick=()=>{path=[data];search.value='';draw()};search.oninput=draw;draw();`;

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
<title>${escapeHtml(title)}</title><style>${STYLE}</style></head><body>
<h1>${escapeHtml(title)}</h1><p>${escapeHtml(note)}</p>
<div id="bar"><input id="search" type="search" placeholder="Search functions" aria-label="Search functions">
<button id="reset" type="button">Whole graph</button></div>
<div id="graph"></div><div id="info" role="status"></div>
<script type="application/json" id="data">${json}</script><script>${SCRIPT}</script></body></html>
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
