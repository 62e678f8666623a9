// The style and the script of the flame graph page, as text: the page must work from a file, without any other file.
// Boxes are buttons, so the graph can be walked by keyboard; names come from the data element and are never parsed as HTML.

export const FLAME_STYLE = `
:root { color-scheme: light dark }
body { font: 13px system-ui, sans-serif; margin: 16px }
h1 { font-size: 16px; margin: 0 0 4px }
p { margin: 0 0 12px; color: GrayText }
#bar { display: flex; gap: 8px; margin-bottom: 8px }
input { flex: 0 1 280px; font: inherit }
#graph { position: relative; width: 100% }
.box {
  position: absolute; height: 17px; box-sizing: border-box; padding: 0 3px;
  overflow: hidden; white-space: nowrap; text-align: left; cursor: pointer;
  font-size: 11px; line-height: 17px; color: #111;
  border: 0; border-right: 1px solid Canvas; border-radius: 1px;
}
.box:focus-visible { outline: 2px solid Highlight; z-index: 1 }
.dim { opacity: .25 }
#info { min-height: 2.6em; margin-top: 8px; word-break: break-all }
`;

export const FLAME_SCRIPT = `
const byId = (id) => document.getElementById(id);
const data = JSON.parse(byId('data').textContent);
const graph = byId('graph'), info = byId('info'), search = byId('search');
const ROW = 18, MIN_WIDTH = 0.05;
let path = [data];

function colour(node) {
  if (node.d === undefined) {
    let hash = 0;
    for (const c of node.n) hash = (hash * 31 + c.charCodeAt(0)) >>> 0;
    return 'hsl(' + (20 + hash % 40) + ' 85% ' + (62 + hash % 13) + '%)';
  }
  if (node.d === 2) return '#bbb';
  return node.d > 0
    ? 'hsl(5 80% ' + (82 - 30 * node.d) + '%)'
    : 'hsl(215 80% ' + (82 + 30 * node.d) + '%)';
}

function trail(target) {
  const found = [];
  (function go(node) {
    found.push(node);
    if (node === target || node.c.some(go)) return true;
    found.pop();
    return false;
  })(data);
  return found;
}

function draw() {
  graph.textContent = '';
  const top = path[path.length - 1], wanted = search.value.toLowerCase();
  const matches = (node) => node.n.toLowerCase().includes(wanted);
  let deepest = 0;
  function box(node, left, width, row) {
    if (width < MIN_WIDTH) return;
    deepest = Math.max(deepest, row);
    const button = document.createElement('button');
    button.className = 'box';
    button.style.left = left + '%';
    button.style.width = width + '%';
    button.style.top = row * ROW + 'px';
    button.style.background = colour(node);
    button.textContent = width > 1.2 ? node.n : '';
    button.title = node.t;
    button.setAttribute('aria-label', node.t);
    if (wanted && !matches(node)) button.classList.add('dim');
    button.onclick = () => { path = trail(node); draw(); };
    button.onfocus = button.onmouseenter = () => { info.textContent = node.t; };
    graph.append(button);
  }
  function walk(node, left, width, row) {
    box(node, left, width, row);
    let at = left;
    for (const child of node.c) {
      const part = width * child.w / node.w;
      walk(child, at, part, row + 1);
      at += part;
    }
  }
  path.slice(0, -1).forEach((node, row) => box(node, 0, 100, row));
  walk(top, 0, 100, path.length - 1);
  if (wanted) {
    // A match inside a match is not counted twice.
    const sum = (node) => matches(node) ? node.w : node.c.reduce((all, c) => all + sum(c), 0);
    info.textContent = '"' + search.value + '": ' + sum(top).toFixed(4) + ' ms/step';
  }
  graph.style.height = (deepest + 1) * ROW + 'px';
}

byId('reset').onclick = () => { path = [data]; search.value = ''; draw(); };
search.oninput = draw;
draw();
`;
