// Small charts as SVG text: lines over concurrency, a histogram, a forest of ratios, bars of requests over time. They scale with
// the page, take their colours from it, and every mark carries its value as a title. Pure.

/** Text that is safe inside HTML and its attributes. */
export function escapeHtml(text: string): string {
  const names: Record<string, string> = {
    '&': 'amp',
    '<': 'lt',
    '>': 'gt',
    '"': 'quot',
    "'": '#39',
  };
  return text.replaceAll(/[&<>"']/g, (letter) => `&${names[letter]};`);
}

const WIDTH = 640;
const LEFT = 56;
const RIGHT = 12;
const TOP = 10;
const BOTTOM = 34;
/** Distinct in both light and dark, and for most kinds of colour blindness. */
const COLOURS = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#e69f00', '#56b4e9'];

export function colourOf(index: number): string {
  return COLOURS[index % COLOURS.length] ?? '#888888';
}

interface Scale {
  at(value: number): number;
  ticks: number[];
}

/** A linear scale from zero with about five round ticks. */
function linear(most: number, from: number, to: number): Scale {
  const top = most > 0 ? most : 1;
  const rough = top / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough) ?? rough;
  const end = Math.ceil(top / step) * step;
  const ticks = Array.from({ length: Math.round(end / step) + 1 }, (_, index) => index * step);
  return { at: (value) => from + ((to - from) * value) / end, ticks };
}

/** Concurrencies double, so they stand at equal distances by their logarithm. */
function logarithmic(values: readonly number[], from: number, to: number): Scale {
  const ticks = [...new Set(values)].sort((a, b) => a - b);
  const [least, most] = [Math.log(ticks[0] ?? 1), Math.log(ticks.at(-1) ?? 1)];
  const span = most - least;
  return {
    at: (value) =>
      span === 0 ? (from + to) / 2 : from + ((to - from) * (Math.log(value) - least)) / span,
    ticks,
  };
}

function frame(label: string, height: number, body: string): string {
  const box = `viewBox="0 0 ${WIDTH} ${height}"`;
  return `<svg ${box} role="img" aria-label="${escapeHtml(label)}"><title>${escapeHtml(label)}</title>${body}</svg>`;
}

function axes(x: Scale, y: Scale, height: number, xLabel: string): string {
  const rows = y.ticks.map((tick) => {
    const at = y.at(tick).toFixed(1);
    const line = `<line class="grid" x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${at}" y2="${at}"/>`;
    return `${line}<text class="tick" x="${LEFT - 6}" y="${at}" dy="4" text-anchor="end">${short(tick)}</text>`;
  });
  const columns = x.ticks.map(
    (tick) =>
      `<text class="tick" x="${x.at(tick).toFixed(1)}" y="${height - BOTTOM + 16}" text-anchor="middle">${short(tick)}</text>`,
  );
  const name = `<text class="tick" x="${WIDTH - RIGHT}" y="${height - 4}" text-anchor="end">${escapeHtml(xLabel)}</text>`;
  return [...rows, ...columns, name].join('');
}

export interface Series {
  name: string;
  points: { x: number; y: number; title: string }[];
}

/** Lines of several arms over concurrency, from zero. */
export function lineChart(label: string, series: readonly Series[]): string {
  const height = 240;
  const points = series.flatMap((one) => one.points);
  const x = logarithmic(
    points.map((point) => point.x),
    LEFT + 12,
    WIDTH - RIGHT - 12,
  );
  const y = linear(Math.max(...points.map((point) => point.y)), height - BOTTOM, TOP);
  const lines = series.map(({ points: own }, index) => {
    const colour = colourOf(index);
    const sorted = own.toSorted((a, b) => a.x - b.x);
    const path = sorted
      .map((point) => `${x.at(point.x).toFixed(1)},${y.at(point.y).toFixed(1)}`)
      .join(' ');
    const marks = sorted.map(
      (point) =>
        `<circle cx="${x.at(point.x).toFixed(1)}" cy="${y.at(point.y).toFixed(1)}" r="4" fill="${colour}"><title>${escapeHtml(point.title)}</title></circle>`,
    );
    return `<polyline fill="none" stroke="${colour}" stroke-width="2" points="${path}"/>${marks.join('')}`;
  });
  return frame(label, height, axes(x, y, height, 'requests in flight') + lines.join(''));
}

/** How often values fall into equal bins up to the 99th hundredth; the rest is told in the last bin's title. */
export function histogram(label: string, values: readonly number[], unit: string): string {
  const height = 180;
  const sorted = values.toSorted((a, b) => a - b);
  const limit = sorted[Math.floor(sorted.length * 0.99)] ?? 1;
  const bins = 48;
  const width = limit / bins || 1;
  const counts = new Array<number>(bins).fill(0);
  for (const value of sorted) {
    const bin = Math.min(bins - 1, Math.floor(value / width));
    counts[bin] = (counts[bin] ?? 0) + 1;
  }
  const x = linear(limit, LEFT, WIDTH - RIGHT);
  const y = linear(Math.max(...counts), height - BOTTOM, TOP);
  const bars = counts.map((count, bin) => {
    const [from, to] = [x.at(bin * width), x.at((bin + 1) * width)];
    const title = `${(bin * width).toFixed(2)} to ${bin === bins - 1 ? short(sorted.at(-1) ?? 0) : ((bin + 1) * width).toFixed(2)} ${unit}: ${count}`;
    const top = y.at(count);
    return `<rect x="${from.toFixed(1)}" y="${top.toFixed(1)}" width="${Math.max(0.5, to - from - 1).toFixed(1)}" height="${(height - BOTTOM - top).toFixed(1)}" fill="${colourOf(0)}"><title>${title}</title></rect>`;
  });
  return frame(label, height, axes(x, y, height, unit) + bars.join(''));
}

export interface Ratio {
  name: string;
  estimate: number;
  lower: number;
  upper: number;
  verdict: string;
}

/** Ratios with their intervals on a common scale; the line at 1 is parity. */
export function forest(label: string, ratios: readonly Ratio[]): string {
  const rowHeight = 22;
  const height = TOP + ratios.length * rowHeight + BOTTOM;
  const reach = Math.max(0.05, ...ratios.flatMap(({ lower, upper }) => [1 - lower, upper - 1]));
  const left = 190;
  const at = (value: number) => left + ((WIDTH - RIGHT - left) * (value - 1 + reach)) / (2 * reach);
  const one = at(1).toFixed(1);
  const rows = ratios.map(({ name, estimate, lower, upper, verdict }, index) => {
    const y = TOP + (index + 0.5) * rowHeight;
    const title = `${name}: ${estimate.toFixed(3)} [${lower.toFixed(3)}, ${upper.toFixed(3)}] ${verdict}`;
    const colour =
      verdict === 'PASS' ? colourOf(2) : verdict === 'BELOW-FLOOR' ? colourOf(1) : colourOf(0);
    return (
      `<text class="tick" x="${left - 8}" y="${y}" dy="4" text-anchor="end">${escapeHtml(name)}</text>` +
      `<g stroke="${colour}" fill="${colour}"><title>${escapeHtml(title)}</title><line x1="${at(lower).toFixed(1)}" x2="${at(upper).toFixed(1)}" y1="${y}" y2="${y}" stroke-width="3"/>` +
      `<circle cx="${at(estimate).toFixed(1)}" cy="${y}" r="4"/></g>`
    );
  });
  const ends = [1 - reach, 1, 1 + reach].map(
    (value) =>
      `<text class="tick" x="${at(value).toFixed(1)}" y="${height - 14}" text-anchor="middle">${value.toFixed(2)}</text>`,
  );
  const parity = `<line class="parity" x1="${one}" x2="${one}" y1="${TOP}" y2="${height - BOTTOM}"/>`;
  return frame(label, height, parity + rows.join('') + ends.join(''));
}

export interface Span {
  lane: number;
  startMs: number;
  firstMs: number | null;
  endMs: number;
  title: string;
  failed: boolean;
}

/** Requests as bars over time, one lane a slot: pale until the first token, full afterwards. */
export function timeline(label: string, spans: readonly Span[]): string {
  const lanes = Math.max(1, ...spans.map(({ lane }) => lane + 1));
  const laneHeight = Math.max(6, Math.min(18, 240 / lanes));
  const height = TOP + lanes * laneHeight + BOTTOM;
  const x = linear(Math.max(1, ...spans.map(({ endMs }) => endMs)) / 1000, LEFT, WIDTH - RIGHT);
  const bars = spans.map(({ lane, startMs, firstMs, endMs, title, failed }) => {
    const y = (TOP + lane * laneHeight).toFixed(1);
    const colour = failed ? colourOf(1) : colourOf(0);
    const bar = (from: number, to: number, opacity: number) =>
      `<rect x="${x.at(from / 1000).toFixed(1)}" y="${y}" width="${Math.max(0.5, x.at(to / 1000) - x.at(from / 1000) - 0.5).toFixed(1)}" height="${(laneHeight - 1).toFixed(1)}" fill="${colour}" opacity="${opacity}"/>`;
    const first = firstMs ?? endMs;
    return `<g><title>${escapeHtml(title)}</title>${bar(startMs, first, 0.35)}${bar(first, endMs, 1)}</g>`;
  });
  const none: Scale = { at: () => 0, ticks: [] };
  return frame(label, height, axes(x, none, height, 's') + bars.join(''));
}

function short(value: number): string {
  const size = Math.abs(value);
  if (size >= 1000) return `${Number((value / 1000).toFixed(1))}k`;
  return String(Number(value.toPrecision(3)));
}
