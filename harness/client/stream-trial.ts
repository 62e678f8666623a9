// For tests: sends one request to a scripted server and holds every stamp of the client against the moment at which the
// server wrote the bytes. Both live in one process and read one clock, so the check needs no tolerance: what was written
// in a step must be stamped after that step began and before the next one did.
import assert from 'node:assert/strict';
import { startClock } from './clock.ts';
import { Connection } from './connection.ts';
import { type Expectation, judge } from './judge.ts';
import type { Endpoint } from './openai-stream.ts';
import { pathOf } from './request-body.ts';
import { chunk, LAST_CHUNK, STREAM_HEAD, type Step, scriptedServer } from './scripted-server.ts';
import type { RequestTimeline } from './timeline.ts';

export interface Shape {
  /** Default STREAM_HEAD, sent at once. */
  head?: string;
  /** Steps after the head. */
  steps: readonly Step[];
  /** Indexes into `steps` of those that complete a content event, one entry an event. */
  content: readonly number[];
  endpoint?: Endpoint;
  timeoutMs?: number;
  expectation?: Partial<Expectation>;
}

export interface Trial {
  timeline: RequestTimeline;
  /** The code of the failure, or 'success'. */
  verdict: string;
}

/** Truth of all shapes unless they say otherwise: a prompt of 4 tokens, an answer of 3. */
const EXPECTATION: Expectation = {
  promptTokens: 4,
  outputTokens: 3,
  exactOutput: true,
  requireColdCache: true,
};

/** A pause long enough to separate two reads; the length itself is never judged. */
export const PAUSE: Step = { waitMs: 12 };

export function data(value: object | string): string {
  return `data: ${typeof value === 'string' ? value : JSON.stringify(value)}\n\n`;
}

export function text(value: string, more: object = {}): object {
  return { choices: [{ index: 0, text: value, finish_reason: null, ...more }] };
}

export function delta(value: object, finish: string | null = null): object {
  return { choices: [{ index: 0, delta: value, finish_reason: finish }] };
}

export const FINISH = { choices: [{ index: 0, text: '', finish_reason: 'length' }] };
export const USAGE = { choices: [], usage: { prompt_tokens: 4, completion_tokens: 3 } };
/** Finish chunk, usage and [DONE] in one write, as servers end a stream. */
export const END: readonly Step[] = [
  chunk(data(FINISH) + data(USAGE) + data('[DONE]')),
  LAST_CHUNK,
];

/** Runs the shape and checks every stamp; returns what the client made of it. */
export async function runShape(shape: Shape): Promise<Trial> {
  const steps: Step[] = [{ write: shape.head ?? STREAM_HEAD }, ...shape.steps];
  const clock = startClock();
  const stepNs: number[] = [];
  const server = await scriptedServer({
    steps: () => steps,
    onStep: (index) => {
      stepNs[index] = clock.nowNs();
    },
  });
  const connection = new Connection({ baseUrl: server.baseUrl, clock, connectTimeoutMs: 1000 });
  const endpoint = shape.endpoint ?? 'completions';
  const timeline = newTimeline();
  try {
    await connection.open();
    await connection.send({
      path: pathOf(endpoint),
      endpoint,
      body: Buffer.from('{}'),
      timeoutMs: shape.timeoutMs ?? 5000,
      timeline,
    });
  } finally {
    await connection.close();
    await server.close();
  }
  checkStamps(shape, timeline, stepNs);
  const failure = judge(timeline, { ...EXPECTATION, ...shape.expectation });
  return { timeline, verdict: failure?.code ?? 'success' };
}

export function newTimeline(): RequestTimeline {
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

function checkStamps(shape: Shape, timeline: RequestTimeline, stepNs: readonly number[]) {
  assert.equal(timeline.contentNs.length, shape.content.length, 'content events');
  for (const [at, stampNs] of timeline.contentNs.entries()) {
    // The head is step 0 of the script.
    const step = (shape.content[at] ?? 0) + 1;
    assert.ok(stampNs >= (stepNs[step] ?? 0), `event ${at} is stamped before it was written`);
    const after = stepNs[nextWrite(shape.steps, step)];
    assert.ok(after === undefined || stampNs <= after, `event ${at} is stamped too late`);
  }
}

/** The first step after `step` (counted with the head) that follows a pause; until then reads may come together. */
function nextWrite(steps: readonly Step[], step: number): number {
  let at = step;
  while (at < steps.length && !('waitMs' in (steps[at] ?? PAUSE))) at += 1;
  return at + 2;
}
