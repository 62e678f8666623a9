// The life of one generation request: its sequences go to the engine, their tokens become the text of its choices, and a
// sink writes them out, once a step. It ends by finishing, failing, being cancelled or running out of time.
import { ServerError } from '../errors.ts';
import { monotonicNs } from '../monotonic-clock.ts';
import type { Usage } from '../protocol/completions.ts';
import type { SequenceSpec } from '../scheduler/sequence.ts';
import { FINISH, type FinishCode } from '../scheduler/stop-rules.ts';
import type { Admission } from './admission.ts';
import { Choice, type ChoiceOptions } from './choice.ts';
import type {
  EngineClient,
  FailureReason,
  SequenceListener,
  SequenceTimes,
  TokenExtras,
} from './engine-client.ts';
import type { Prompt } from './prompts.ts';
import type { ServedModel } from './served-model.ts';
import { teachVocabulary } from './vocabulary.ts';

export interface GenerationRequest {
  prompts: readonly Prompt[];
  choicesPerPrompt: number;
  /** What the engine is to do for choice `sample` of a prompt. */
  spec(prompt: Prompt, sample: number): Omit<SequenceSpec, 'id' | 'promptIds'>;
  choice: ChoiceOptions;
}

/** Writes a generation out. */
export interface GenerationSink {
  /** Some choices have news; called once a step. After the last news `generation.ended` is true. */
  onNews(generation: Generation): void;
  onError(error: ServerError): void;
}

/** Watches generations, for the metrics. */
export interface GenerationObserver {
  onFirstToken(generation: Generation, choice: Choice): void;
  /** `gapNs` since the choice's token before; 0 for its first. */
  onToken(choice: Choice, gapNs: number): void;
  onChoiceEnd(generation: Generation, choice: Choice, reason: string): void;
}

export interface GenerationServices {
  engine: EngineClient;
  model: ServedModel;
  admission: Admission;
  observer: GenerationObserver;
  /** 0 is no limit. */
  requestTimeoutMs: number;
}

export class Generation implements SequenceListener {
  readonly request: GenerationRequest;
  readonly choices: readonly Choice[];
  readonly arrivedNs = monotonicNs();
  readonly #services: GenerationServices;
  readonly #sink: GenerationSink;
  readonly #live = new Map<number, Choice>();
  /** Cut short: nothing more is to be written. */
  #failed = false;
  #deadline: NodeJS.Timeout | undefined;

  constructor(request: GenerationRequest, services: GenerationServices, sink: GenerationSink) {
    this.request = request;
    this.#services = services;
    this.#sink = sink;
    const { prompts, choicesPerPrompt } = request;
    this.choices = prompts.flatMap((prompt, promptIndex) =>
      Array.from({ length: choicesPerPrompt }, (_, sample) => {
        const index = promptIndex * choicesPerPrompt + sample;
        return new Choice({ index, promptIndex, prompt }, services.model, request.choice);
      }),
    );
  }

  /** All choices are finished, or it was cut short. */
  get ended(): boolean {
    return this.#live.size === 0;
  }

  /** Hands the sequences to the engine; throws a ServerError when they cannot be taken. */
  start(): void {
    const { engine, admission, requestTimeoutMs } = this.#services;
    if (engine.state === 'dead') throw engineDied();
    if (engine.state === 'closed') throw shutDown();
    admission.take(this.choices.length);
    const specs = this.choices.map((choice): SequenceSpec => {
      const id = engine.nextId();
      this.#live.set(id, choice);
      const sample = choice.index % this.request.choicesPerPrompt;
      const spec = this.request.spec(choice.prompt, sample);
      choice.maxTokens = spec.maxTokens;
      return { ...spec, id, promptIds: choice.prompt.ids };
    });
    if (specs.some(({ grammar }) => grammar)) teachVocabulary(engine, this.#services.model);
    engine.submit(specs, this);
    if (requestTimeoutMs > 0) this.#deadline = setTimeout(() => this.#expire(), requestTimeoutMs);
  }

  /** Ends it without a word to the sink: the client has gone. */
  cancel(): void {
    this.#cut('abort');
  }

  usage(): Usage {
    let promptTokens = 0;
    let cachedTokens = 0;
    let completionTokens = 0;
    for (const choice of this.choices) {
      completionTokens += choice.completionTokens;
      if (choice.index % this.request.choicesPerPrompt !== 0) continue;
      promptTokens += choice.prompt.ids.length;
      cachedTokens += choice.cachedTokens;
    }
    return {
      prompt_tokens: promptTokens,
      completion_tokens: completionTokens,
      total_tokens: promptTokens + completionTokens,
      prompt_tokens_details: { cached_tokens: cachedTokens },
    };
  }

  onScheduled(id: number, cachedTokens: number, times: SequenceTimes): void {
    const choice = this.#live.get(id);
    if (!choice) return;
    choice.cachedTokens = cachedTokens;
    choice.queuedNs = times.queuedNs;
    choice.scheduledNs = times.scheduledNs;
  }

  onToken(id: number, token: number, finish: FinishCode, extras: TokenExtras | undefined): void {
    const choice = this.#live.get(id);
    if (!choice) return;
    const { engine, observer } = this.#services;
    if (finish === FINISH.error) {
      this.#giveUp();
      return;
    }
    const nowNs = monotonicNs();
    choice.accept(token, finish, extras);
    observer.onToken(choice, choice.lastTokenNs > 0 ? nowNs - choice.lastTokenNs : 0);
    choice.lastTokenNs = nowNs;
    if (choice.firstTokenNs === 0) {
      choice.firstTokenNs = nowNs;
      observer.onFirstToken(this, choice);
    }
    if (!choice.finished) return;
    // A stop string ends the choice here; the engine does not know yet.
    if (finish === 0) engine.abort([id]);
    this.#release(id, choice, choice.finishReason ?? 'stop');
  }

  onStepEnd(): void {
    if (this.#failed) return;
    if (this.ended) clearTimeout(this.#deadline);
    this.#sink.onNews(this);
  }

  onFailure(reason: FailureReason): void {
    this.#cut(reason === 'shutdown' ? 'abort' : 'error');
    this.#sink.onError(FAILURES[reason]());
  }

  #giveUp(): void {
    this.#cut('error');
    const message = 'The grammar of this request is too ambiguous to be followed; simplify it.';
    this.#sink.onError(new ServerError('invalid_request', message));
  }

  #expire(): void {
    const { requestTimeoutMs } = this.#services;
    this.#cut('abort');
    const message = `The request did not finish within the server's limit of ${requestTimeoutMs} ms.`;
    this.#sink.onError(new ServerError('request_timeout', message));
  }

  #cut(reason: string): void {
    this.#failed = true;
    clearTimeout(this.#deadline);
    this.#services.engine.abort([...this.#live.keys()]);
    for (const [id, choice] of this.#live) this.#release(id, choice, reason);
  }

  #release(id: number, choice: Choice, reason: string): void {
    this.#live.delete(id);
    this.#services.admission.release(1);
    this.#services.observer.onChoiceEnd(this, choice, reason);
  }
}

function engineDied(): ServerError {
  return new ServerError(
    'engine_dead',
    'The engine stopped after an internal error; the server must be restarted.',
  );
}

function shutDown(): ServerError {
  return new ServerError(
    'shutting_down',
    'The server was shut down before the reply was complete.',
  );
}

const FAILURES: Readonly<Record<FailureReason, () => ServerError>> = {
  died: engineDied,
  shutdown: shutDown,
  internal: () =>
    new ServerError('internal', 'The reply could not be made; the log of the server tells why.'),
};
