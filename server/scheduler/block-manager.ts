// Who holds which KV block: reference counts, the free list, and which free or used block still holds which content
// (the prefix cache). Free blocks with cached content are reused last, oldest first; others are reused at once, so
// that a server without a prefix cache touches no more memory than its peak needs. No I/O, no clock.

export class BlockManager {
  readonly blockCount: number;
  /** Circular list of free blocks; index blockCount is its anchor. */
  readonly #next: Int32Array;
  readonly #previous: Int32Array;
  readonly #references: Int32Array;
  readonly #hashOf: (string | undefined)[];
  readonly #byHash = new Map<string, number>();
  #free = 0;

  constructor(blockCount: number) {
    this.blockCount = blockCount;
    this.#next = new Int32Array(blockCount + 1);
    this.#previous = new Int32Array(blockCount + 1);
    this.#references = new Int32Array(blockCount);
    this.#hashOf = new Array<string | undefined>(blockCount).fill(undefined);
    this.#next[blockCount] = blockCount;
    this.#previous[blockCount] = blockCount;
    for (let block = blockCount - 1; block >= 0; block -= 1) this.#insertFirst(block);
  }

  get freeBlocks(): number {
    return this.#free;
  }

  /** How many sequences hold the block. */
  references(block: number): number {
    return this.#references[block] ?? 0;
  }

  /** Takes a free block, forgetting what it held; -1 when there is none. */
  allocate(): number {
    const block = this.#next[this.blockCount] ?? this.blockCount;
    if (block === this.blockCount) return -1;
    this.#unlink(block);
    this.#forget(block);
    this.#references[block] = 1;
    return block;
  }

  /** Adds a holder to a block that lookup() returned. */
  share(block: number): void {
    if (this.references(block) === 0) this.#unlink(block);
    this.#references[block] = this.references(block) + 1;
  }

  /** Gives up one hold; the last one frees the block but keeps its content findable until it is reused. */
  release(block: number): void {
    const left = this.references(block) - 1;
    if (left < 0)
      throw new RangeError(`KV block ${block} was released more often than it was taken.`);
    this.#references[block] = left;
    if (left > 0) return;
    if (this.#hashOf[block] === undefined) this.#insertFirst(block);
    else this.#insertLast(block);
  }

  /** Names the content of a full block; the first block of a content keeps the name. */
  register(block: number, hash: string): void {
    if (this.#byHash.has(hash) || this.#hashOf[block] !== undefined) return;
    this.#byHash.set(hash, block);
    this.#hashOf[block] = hash;
  }

  /** The block that holds this content, or -1. */
  lookup(hash: string): number {
    return this.#byHash.get(hash) ?? -1;
  }

  /** Forgets all cached content; false, and nothing happens, while any block is in use. */
  reset(): boolean {
    if (this.#free !== this.blockCount) return false;
    this.#byHash.clear();
    this.#hashOf.fill(undefined);
    return true;
  }

  #forget(block: number): void {
    const hash = this.#hashOf[block];
    if (hash === undefined) return;
    this.#byHash.delete(hash);
    this.#hashOf[block] = undefined;
  }

  #insertFirst(block: number): void {
    this.#link(this.blockCount, block, this.#next[this.blockCount] ?? this.blockCount);
  }

  #insertLast(block: number): void {
    this.#link(this.#previous[this.blockCount] ?? this.blockCount, block, this.blockCount);
  }

  #link(before: number, block: number, after: number): void {
    this.#next[before] = block;
    this.#previous[block] = before;
    this.#next[block] = after;
    this.#previous[after] = block;
    this.#free += 1;
  }

  #unlink(block: number): void {
    const before = this.#previous[block] ?? this.blockCount;
    const after = this.#next[block] ?? this.blockCount;
    this.#next[before] = after;
    this.#previous[after] = before;
    this.#free -= 1;
  }
}
