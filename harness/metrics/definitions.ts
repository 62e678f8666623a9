// The one table of metric definitions: what each number means, in words and as a formula, so that reports, records and
// gates say the same. A change of a formula is a new id: numbers of one id can always be compared.

type MetricFamily = 'latency' | 'throughput' | 'load' | 'memory' | 'self';
/** What better means. 'neither': a fact about the run, not a merit. */
type Direction = 'lower' | 'higher' | 'neither';

export interface MetricDefinition {
  id: string;
  label: string;
  unit: string;
  direction: Direction;
  family: MetricFamily;
  /** The formula in words; printed with the number where there is room. */
  formula: string;
  /** What a stream must carry for it, beyond events and usage. */
  needs: string;
}

function define<const Id extends string>(
  id: Id,
  label: string,
  unit: string,
  direction: Direction,
  family: MetricFamily,
  formula: string,
  needs = '',
): MetricDefinition & { id: Id } {
  return { id, label, unit, direction, family, formula, needs };
}

const SENT = 'the request handed to its socket';
const CONTENT = 'event with non-empty content, reasoning or tool-call delta';

export const METRICS = [
  define('ttft', 'TTFT', 'ms', 'lower', 'latency', `first ${CONTENT} minus ${SENT}`),
  define('ttfr', 'TTFR', 'ms', 'lower', 'latency', `first event of any kind minus ${SENT}`),
  define(
    'tpot',
    'TPOT',
    'ms',
    'lower',
    'latency',
    'a request: (last token - first token) / (output tokens - tokens in the first event)',
    'at least two content events; tokens in the first event count as one where the stream does not say',
  ),
  define('itl', 'ITL', 'ms', 'lower', 'latency', 'gaps between content events, pooled'),
  define(
    'itl_token',
    'ITL per token',
    'ms',
    'lower',
    'latency',
    'gaps between content events divided by the tokens of the later event, pooled',
    'token ids or continuous usage',
  ),
  define('e2el', 'E2EL', 'ms', 'lower', 'latency', `last token minus ${SENT}`),
  define('stream_close', 'stream close', 'ms', 'lower', 'latency', `response ended minus ${SENT}`),
  define(
    'queue',
    'client queue',
    'ms',
    'lower',
    'self',
    `${SENT} minus when it should have been (the slot free, or the schedule)`,
  ),
  define(
    'output_throughput',
    'output tokens/s',
    '1/s',
    'higher',
    'throughput',
    'output tokens whose stamps lie in the steady window / its length',
  ),
  define(
    'total_throughput',
    'total tokens/s',
    '1/s',
    'higher',
    'throughput',
    'output tokens in the window and prompt tokens of the requests that ended well in it / its length',
  ),
  define(
    'request_throughput',
    'requests/s',
    '1/s',
    'higher',
    'throughput',
    'requests that ended well in the steady window / its length',
  ),
  define(
    'goodput',
    'goodput',
    '1/s',
    'higher',
    'throughput',
    'measured requests that ended well and kept every objective / length of the window',
    'objectives for TTFT, TPOT or E2EL',
  ),
  define(
    'achieved_concurrency',
    'in flight',
    'requests',
    'neither',
    'load',
    'mean requests in flight over the window',
  ),
  define(
    'peak_memory',
    'peak memory',
    'bytes',
    'lower',
    'memory',
    "peak of the summed PSS of the server's process tree",
    'a server on this host',
  ),
  define(
    'client_cpu',
    'client CPU per token',
    'us',
    'lower',
    'self',
    'CPU time of the measuring process / tokens it received',
  ),
] as const;

export type MetricId = (typeof METRICS)[number]['id'];

/** The definition with this id. */
export function metricDefinition(id: MetricId): MetricDefinition {
  const found = METRICS.find((metric) => metric.id === id);
  if (found === undefined) throw new RangeError(`There is no metric ${JSON.stringify(id)}.`);
  return found;
}
