// The one error class of the harness: a closed set of codes, each with a hint and an exit code. Callers match `code`.

export const EXIT = {
  ok: 0,
  belowFloor: 1,
  usage: 2,
  void: 3,
  pending: 4,
  bug: 70,
  interrupted: 130,
} as const;

const CODES = {
  USAGE: { exit: EXIT.usage, hint: 'See: bench --help' },
  INVALID_FILE: { exit: EXIT.usage, hint: 'Correct the file and run the command again.' },
  MODEL_NOT_FOUND: { exit: EXIT.usage, hint: 'See what is there with: bench model list' },
  RECORDS_UNWRITABLE: {
    exit: EXIT.usage,
    hint: 'Name a folder that you may write to with --records FOLDER.',
  },
  PORT_IN_USE: {
    exit: EXIT.usage,
    hint: 'Name another port with --port, or stop the other program.',
  },
  ALREADY_RUNNING: {
    exit: EXIT.usage,
    hint: 'Wait for it, or stop it: two runs at once disturb each other.',
  },
  SERVER_NOT_READY: { exit: EXIT.void, hint: "Read the server's own words above." },
  SERVER_WRONG: {
    exit: EXIT.void,
    hint: 'Check that the server serves this model and honours the fields.',
  },
  INTERRUPTED: { exit: EXIT.interrupted, hint: 'What was measured is kept and marked.' },
} as const;

export type HarnessErrorCode = keyof typeof CODES;

export class HarnessError extends Error {
  readonly code: HarnessErrorCode;
  readonly hint: string;
  readonly exitCode: number;
  constructor(code: HarnessErrorCode, message: string, options?: ErrorOptions & { hint?: string }) {
    super(message, options);
    this.name = 'HarnessError';
    this.code = code;
    this.hint = options?.hint ?? CODES[code].hint;
    this.exitCode = CODES[code].exit;
  }
}
