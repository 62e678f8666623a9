// What can be compared: an axis is a metric of the one table with the statistic that is taken of it. Direction comes from
// that table, never from a name; an axis that is not listed here is an error, not a guess.
import { type MetricId, metricDefinition } from '../metrics/definitions.ts';
import type { Direction } from '../stats/log-ratio.ts';

export interface Axis {
  id: string;
  metric: MetricId;
  direction: Direction;
  unit: string;
  /** A percentile needs requests; memory belongs to a launch; the rest is sampled in every leg. */
  kind: 'sampled' | 'percentile' | 'memory';
  /** For a percentile: its share, 0 to 1. */
  share?: number;
  /** Values outside cannot be of this unit: seconds read as milliseconds, bytes as megabytes. */
  plausible: { least: number; most: number };
}

const MILLISECONDS = { least: 0.01, most: 3.6e6 };
const RATE = { least: 1e-3, most: 1e8 };

const AXES: readonly Axis[] = [
  ...rate('output_throughput'),
  ...rate('total_throughput'),
  ...rate('request_throughput'),
  ...rate('goodput'),
  ...latency('ttft', [0.5, 0.9, 0.95, 0.99]),
  ...latency('tpot', [0.5, 0.9, 0.95, 0.99]),
  ...latency('itl', [0.5, 0.9, 0.95, 0.99]),
  ...latency('itl_token', [0.5, 0.9, 0.95, 0.99]),
  ...latency('e2el', [0.5, 0.9, 0.95, 0.99]),
  {
    ...base('peak_memory', 'peak_memory'),
    kind: 'memory',
    plausible: { least: 1 << 16, most: 1e15 },
  },
];

/** The axes of a campaign's claim; everything else is informational unless a floors file gates it (section 2.7). */
export const PRIMARY_AXES = ['output_throughput', 'ttft.p50', 'tpot.mean', 'peak_memory'] as const;

export const AXIS_IDS: readonly string[] = AXES.map(({ id }) => id);

/** The axis with this id, such as "ttft.p50"; undefined when there is none. */
export function findAxis(id: string): Axis | undefined {
  return AXES.find((axis) => axis.id === id);
}

/** The key of a cell: axis at concurrency, such as "tpot.mean@c4". */
export function cellKey(axis: string, concurrency: number): string {
  return `${axis}@c${concurrency}`;
}

function base(id: string, metric: MetricId) {
  const { direction, unit } = metricDefinition(metric);
  if (direction === 'neither') throw new RangeError(`${metric} has no direction to compare in.`);
  return { id, metric, direction, unit };
}

function rate(metric: MetricId): Axis[] {
  return [{ ...base(metric, metric), kind: 'sampled', plausible: RATE }];
}

function latency(metric: MetricId, shares: readonly number[]): Axis[] {
  return [
    { ...base(`${metric}.mean`, metric), kind: 'sampled', plausible: MILLISECONDS },
    ...shares.map((share): Axis => {
      const id = `${metric}.p${Math.round(share * 100)}`;
      return { ...base(id, metric), kind: 'percentile', share, plausible: MILLISECONDS };
    }),
  ];
}
