// What framing and decoding cost alone: events as servers send them, in memory, through the parser of every measurement.
import { OpenAiStream } from '../client/openai-stream.ts';
import { SseParser } from '../client/sse-parser.ts';
import type { RequestTimeline } from '../client/timeline.ts';

export interface ParserCost {
  /** Bytes of one event, as a server sends it. */
  eventBytes: number;
  /** Framing alone. */
  framingNsPerEvent: number;
  /** Framing, JSON and the timeline. */
  decodingNsPerEvent: number;
}

const EVENT = Buffer.from(
  `data: {"id":"cmpl-3f0c","object":"text_completion","created":1764590000,"model":"some/model-name","choices":` +
    `[{"index":0,"text":" token","logprobs":null,"finish_reason":null,"token_ids":[31999]}],"usage":null}\n\n`,
);
const EVENTS = 20_000;
const ROUNDS = 5;

/** The best of a few rounds, each of 20,000 events in reads of one event. Takes about half a second. */
export function benchmarkParser(): ParserCost {
  const nothing = { event: () => undefined, invalid: () => undefined };
  return {
    eventBytes: EVENT.length,
    framingNsPerEvent: best(() => new SseParser(nothing)),
    decodingNsPerEvent: best(() => new SseParser(new OpenAiStream(blank(), 'completions'))),
  };
}

function best(makeParser: () => SseParser): number {
  let least = Number.POSITIVE_INFINITY;
  for (let round = 0; round < ROUNDS; round += 1) {
    const parser = makeParser();
    const before = process.hrtime.bigint();
    for (let event = 0; event < EVENTS; event += 1) parser.push(EVENT, event);
    least = Math.min(least, Number(process.hrtime.bigint() - before) / EVENTS);
  }
  return least;
}

function blank(): RequestTimeline {
  return {
    index: 0,
    slot: 0,
    phase: 'measured',
    intendedNs: 0,
    sentNs: 0,
    contentNs: [],
    text: '',
    bytesReceived: 0,
    reconnects: 0,
  };
}
