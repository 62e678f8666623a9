// The step trace: what GET /debug/steps streams as NDJSON, one line a step. It is the only thing of the server that the
// harness may import. All stamps are CLOCK_MONOTONIC in ns, so on one host they line up with a client's own.
import { z } from 'zod';

const stamp = z.number().nonnegative().describe('CLOCK_MONOTONIC, ns');

export const stepRecordSchema = z.strictObject({
  step: z.number().int().nonnegative().describe('step id, ascending by one'),
  prefillTokens: z.number().int().nonnegative(),
  decodeTokens: z.number().int().nonnegative(),
  sequences: z.number().int().nonnegative().describe('sequences in the step'),
  waiting: z.number().int().nonnegative().describe('requests queued when the step was planned'),
  kvBlocksFree: z.number().int().nonnegative(),
  preempted: z.number().int().nonnegative(),
  sleptNs: z
    .number()
    .nonnegative()
    .describe('how long the engine slept for want of work before it'),
  beginNs: stamp.describe('inbox drained, scheduling begins'),
  scheduledNs: stamp.describe('the plan is made'),
  forwardNs: stamp.describe('the forward pass returned'),
  sampledNs: stamp.describe('token ids are known'),
  postedNs: stamp.describe('appended, stop checks done, message handed to the front end'),
  receivedNs: stamp.optional().describe('front end: the message was received'),
  detokenisedNs: stamp.optional().describe('front end: all its text is made'),
  writtenNs: stamp.optional().describe('front end: all its events were written to their sockets'),
});
export type StepRecord = z.infer<typeof stepRecordSchema>;

/** GET /debug/threads: which thread does what, so that nobody has to guess from names. */
export const threadMapSchema = z.strictObject({
  pid: z.number().int().positive(),
  threads: z.array(
    z.strictObject({
      tid: z.number().int().positive(),
      name: z.string(),
      role: z.enum(['frontend', 'engine-core', 'kernel', 'runtime']),
    }),
  ),
});
export type ThreadMap = z.infer<typeof threadMapSchema>;
