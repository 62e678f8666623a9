// One step as data: which tokens of which sequences run, where their keys and values lie, and how the next tokens
// are drawn. Allocated once and refilled every step; its arrays are in the form that the forward pass reads.
import { BLOCK_TOKENS, type Sequence } from './sequence.ts';

export interface PlanBounds {
  maxTokensPerStep: number;
  maxSequences: number;
  maxModelLength: number;
  /** Logit rows that one forward pass can leave. */
  maxLogitRows: number;
}

export class StepPlan {
  tokenCount = 0;
  readonly tokens: Int32Array;
  sequenceCount = 0;
  readonly queryStart: Int32Array;
  readonly firstPosition: Int32Array;
  readonly blockTables: Int32Array;
  readonly blockTableStride: number;
  logitRowCount = 0;
  readonly logitRows: Int32Array;

  /** As logitRowCount; the sampler reads it by this name. */
  rowCount = 0;
  readonly temperature: Float32Array;
  readonly topK: Int32Array;
  readonly topP: Float32Array;
  readonly minP: Float32Array;
  readonly seed: Uint32Array;
  readonly drawIndex: Int32Array;

  prefillTokens = 0;
  decodeTokens = 0;
  preempted = 0;
  readonly sequences: Sequence[] = [];
  /** The sequence of each logit row. */
  readonly rowSequence: Sequence[] = [];
  /** Position in its sequence of each row's token. */
  readonly rowPosition: Int32Array;
  /** 1 where the row's draw is the sequence's next token, 0 where only log-probabilities of the prompt are wanted. */
  readonly rowDraws: Uint8Array;

  constructor(bounds: PlanBounds) {
    const { maxTokensPerStep, maxSequences, maxModelLength, maxLogitRows } = bounds;
    this.tokens = new Int32Array(maxTokensPerStep);
    this.queryStart = new Int32Array(maxSequences + 1);
    this.firstPosition = new Int32Array(maxSequences);
    this.blockTableStride = Math.ceil(maxModelLength / BLOCK_TOKENS);
    this.blockTables = new Int32Array(maxSequences * this.blockTableStride);
    this.logitRows = new Int32Array(maxLogitRows);
    this.temperature = new Float32Array(maxLogitRows);
    this.topK = new Int32Array(maxLogitRows);
    this.topP = new Float32Array(maxLogitRows);
    this.minP = new Float32Array(maxLogitRows);
    this.seed = new Uint32Array(maxLogitRows * 2);
    this.drawIndex = new Int32Array(maxLogitRows);
    this.rowPosition = new Int32Array(maxLogitRows);
    this.rowDraws = new Uint8Array(maxLogitRows);
  }

  clear(): void {
    this.tokenCount = 0;
    this.sequenceCount = 0;
    this.logitRowCount = 0;
    this.rowCount = 0;
    this.prefillTokens = 0;
    this.decodeTokens = 0;
    this.preempted = 0;
    this.sequences.length = 0;
    this.rowSequence.length = 0;
  }

  /** Adds `sequence.chunk` tokens from position `sequence.computed`, whose blocks it already holds. */
  add(sequence: Sequence): void {
    const index = this.sequenceCount;
    const { chunk, computed, tokens } = sequence;
    this.queryStart[index] = this.tokenCount;
    this.firstPosition[index] = computed;
    for (let offset = 0; offset < chunk; offset += 1) {
      this.tokens[this.tokenCount + offset] = tokens[computed + offset] ?? 0;
    }
    const row = index * this.blockTableStride;
    const { blocks, blockCount } = sequence;
    for (let block = 0; block < blockCount; block += 1) {
      this.blockTables[row + block] = blocks[block] ?? 0;
    }
    this.#addRows(sequence);
    const isDecode = computed + chunk === sequence.length && computed >= sequence.promptLength;
    if (isDecode && chunk === 1) this.decodeTokens += 1;
    else this.prefillTokens += chunk;
    this.tokenCount += chunk;
    this.sequenceCount = index + 1;
    this.queryStart[index + 1] = this.tokenCount;
    this.sequences.push(sequence);
  }

  #addRows(sequence: Sequence): void {
    const end = sequence.computed + sequence.chunk;
    if (sequence.spec.promptLogprobs !== undefined) {
      const from = Math.max(sequence.computed, sequence.promptRowsDone);
      for (let at = from; at < Math.min(end, sequence.promptLength - 1); at += 1) {
        this.#addRow(sequence, at, false);
      }
    }
    if (end === sequence.length) this.#addRow(sequence, end - 1, true);
  }

  #addRow(sequence: Sequence, position: number, draws: boolean): void {
    const row = this.logitRowCount;
    const { sampling } = sequence.spec;
    this.logitRows[row] = this.tokenCount + position - sequence.computed;
    this.temperature[row] = draws ? sampling.temperature : 0;
    this.topK[row] = sampling.topK;
    this.topP[row] = sampling.topP;
    this.minP[row] = sampling.minP;
    this.seed[row * 2] = sampling.seedLow;
    this.seed[row * 2 + 1] = sampling.seedHigh;
    this.drawIndex[row] = sequence.outputTokens;
    this.rowPosition[row] = position;
    this.rowDraws[row] = draws ? 1 : 0;
    this.rowSequence.push(sequence);
    this.logitRowCount = row + 1;
    this.rowCount = row + 1;
  }
}
