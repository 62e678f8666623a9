// The sequences that wait to be admitted, in the order in which they will be: by arrival, or by priority and then
// arrival. A preempted sequence goes back to the front of its class. No I/O, no clock.
import type { Sequence } from './sequence.ts';

export const POLICIES = ['fcfs', 'priority'] as const;
export type SchedulingPolicy = (typeof POLICIES)[number];

/** True when `a` is to be served before `b` under the priority policy. */
export function precedes(a: Sequence, b: Sequence): boolean {
  if (a.spec.priority !== b.spec.priority) return a.spec.priority < b.spec.priority;
  return a.arrival < b.arrival;
}

export class RequestQueue {
  readonly #policy: SchedulingPolicy;
  /** Live entries start at #head, so that taking the first one does not move the rest. */
  #items: Sequence[] = [];
  #head = 0;

  constructor(policy: SchedulingPolicy) {
    this.#policy = policy;
  }

  get length(): number {
    return this.#items.length - this.#head;
  }

  /** Adds a newcomer at the place that the policy gives it. */
  add(sequence: Sequence): void {
    if (this.#policy === 'fcfs') this.#items.push(sequence);
    else this.#insertByPriority(sequence);
  }

  /** Puts a preempted sequence back: first of all (fcfs), or where its priority and arrival put it. */
  putBack(sequence: Sequence): void {
    if (this.#policy === 'priority') {
      this.#insertByPriority(sequence);
    } else if (this.#head > 0) {
      this.#head -= 1;
      this.#items[this.#head] = sequence;
    } else {
      this.#items.unshift(sequence);
    }
  }

  first(): Sequence | undefined {
    return this.#items[this.#head];
  }

  takeFirst(): Sequence | undefined {
    const sequence = this.#items[this.#head];
    if (sequence === undefined) return undefined;
    this.#head += 1;
    if (this.#head > 256 && this.#head * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
    return sequence;
  }

  /** Takes a sequence out, wherever it stands; false when it is not here. */
  remove(sequence: Sequence): boolean {
    const index = this.#items.indexOf(sequence, this.#head);
    if (index < 0) return false;
    this.#items.splice(index, 1);
    return true;
  }

  #insertByPriority(sequence: Sequence): void {
    let low = this.#head;
    let high = this.#items.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      const other = this.#items[middle];
      if (other !== undefined && precedes(other, sequence)) low = middle + 1;
      else high = middle;
    }
    this.#items.splice(low, 0, sequence);
  }
}
