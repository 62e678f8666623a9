// The last steps' records in memory shared by the engine and the front end: the engine fills its stamps, the front end
// adds its own. A slot's step id is written last and cleared first, so that a torn record is seen and skipped.
import type { StepRecord } from '../protocol/step-trace.ts';

const SLOTS = 8192;
const FIELDS = [
  'prefillTokens',
  'decodeTokens',
  'sequences',
  'waiting',
  'kvBlocksFree',
  'preempted',
  'sleptNs',
  'beginNs',
  'scheduledNs',
  'forwardNs',
  'sampledNs',
  'postedNs',
  'receivedNs',
  'detokenisedNs',
  'writtenNs',
] as const;
const STRIDE = FIELDS.length;
const POSTED = FIELDS.indexOf('postedNs');
const RECEIVED = FIELDS.indexOf('receivedNs');
export type EngineFields = Omit<StepRecord, 'step' | 'receivedNs' | 'detokenisedNs' | 'writtenNs'>;

export class StepRing {
  readonly shared: SharedArrayBuffer;
  /** Step id + 1 of each slot; 0 while it is empty or being written. */
  readonly #ids: Int32Array;
  readonly #values: Float64Array;
  /** Entry 0 counts all steps so far. */
  readonly #count: Int32Array;

  constructor(shared?: SharedArrayBuffer) {
    const idBytes = (SLOTS + 2) * 4;
    this.shared = shared ?? new SharedArrayBuffer(idBytes + SLOTS * STRIDE * 8);
    this.#count = new Int32Array(this.shared, 0, 2);
    this.#ids = new Int32Array(this.shared, 8, SLOTS);
    this.#values = new Float64Array(this.shared, idBytes, SLOTS * STRIDE);
  }

  get steps(): number {
    return Atomics.load(this.#count, 0);
  }

  /** Engine: writes a finished step's record. */
  record(step: number, fields: EngineFields): void {
    const slot = step % SLOTS;
    Atomics.store(this.#ids, slot, 0);
    const base = slot * STRIDE;
    this.#values[base] = fields.prefillTokens;
    this.#values[base + 1] = fields.decodeTokens;
    this.#values[base + 2] = fields.sequences;
    this.#values[base + 3] = fields.waiting;
    this.#values[base + 4] = fields.kvBlocksFree;
    this.#values[base + 5] = fields.preempted;
    this.#values[base + 6] = fields.sleptNs;
    this.#values[base + 7] = fields.beginNs;
    this.#values[base + 8] = fields.scheduledNs;
    this.#values[base + 9] = fields.forwardNs;
    this.#values[base + 10] = fields.sampledNs;
    this.#values[base + 11] = fields.postedNs;
    this.#values.fill(0, base + RECEIVED, base + STRIDE);
    Atomics.store(this.#ids, slot, step + 1);
    Atomics.store(this.#count, 0, step + 1);
  }

  /** Engine: corrects the last stamp, once the message is really handed over. */
  posted(step: number, postedNs: number): void {
    this.#values[(step % SLOTS) * STRIDE + POSTED] = postedNs;
  }

  /** Front end: adds its stamps, unless the slot was already reused. */
  stamp(step: number, receivedNs: number, detokenisedNs: number, writtenNs: number): void {
    const slot = step % SLOTS;
    if (Atomics.load(this.#ids, slot) !== step + 1) return;
    const base = slot * STRIDE + RECEIVED;
    this.#values[base] = receivedNs;
    this.#values[base + 1] = detokenisedNs;
    this.#values[base + 2] = writtenNs;
  }

  /** Complete records with a step id above `after`, oldest first. */
  read(after: number): StepRecord[] {
    const records: StepRecord[] = [];
    const end = this.steps;
    for (let step = Math.max(after + 1, end - SLOTS, 0); step < end; step += 1) {
      const record = this.#readOne(step);
      if (record) records.push(record);
    }
    return records;
  }

  #readOne(step: number): StepRecord | undefined {
    const slot = step % SLOTS;
    if (Atomics.load(this.#ids, slot) !== step + 1) return undefined;
    const base = slot * STRIDE;
    const entries = FIELDS.map((field, index) => [field, this.#values[base + index] ?? 0] as const);
    if (Atomics.load(this.#ids, slot) !== step + 1) return undefined;
    // The front end's stamps are absent until it has handled the step.
    const known = entries.filter(([, value], index) => index < RECEIVED || value > 0);
    return { step, ...Object.fromEntries(known) } as StepRecord;
  }
}
