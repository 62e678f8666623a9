// The one error class of the server: a closed set of codes. Some end the program with a sentence and an exit code, the
// others answer a request in OpenAI's form. Callers match `code`.

const CODES = {
  usage: { status: 500, type: 'server_error', exit: 2 },
  model: { status: 500, type: 'server_error', exit: 2 },
  port: { status: 500, type: 'server_error', exit: 2 },
  machine: { status: 500, type: 'server_error', exit: 2 },
  invalid_request: { status: 400, type: 'invalid_request_error', exit: 70 },
  unsupported: { status: 400, type: 'invalid_request_error', exit: 70 },
  context_length_exceeded: { status: 400, type: 'invalid_request_error', exit: 70 },
  invalid_api_key: { status: 401, type: 'authentication_error', exit: 70 },
  not_found: { status: 404, type: 'not_found_error', exit: 70 },
  model_not_found: { status: 404, type: 'not_found_error', exit: 70 },
  method_not_allowed: { status: 405, type: 'invalid_request_error', exit: 70 },
  request_receive_timeout: { status: 408, type: 'invalid_request_error', exit: 70 },
  body_too_large: { status: 413, type: 'invalid_request_error', exit: 70 },
  headers_too_large: { status: 431, type: 'invalid_request_error', exit: 70 },
  internal: { status: 500, type: 'server_error', exit: 70 },
  engine_dead: { status: 500, type: 'server_error', exit: 70 },
  overloaded: { status: 503, type: 'overloaded_error', exit: 70 },
  shutting_down: { status: 503, type: 'server_error', exit: 70 },
  request_timeout: { status: 504, type: 'timeout_error', exit: 70 },
} as const;

export type ServerErrorCode = keyof typeof CODES;

export interface ErrorBody {
  error: { message: string; type: string; param: string | null; code: string };
}

export class ServerError extends Error {
  readonly code: ServerErrorCode;
  /** The request field that is wrong. */
  readonly param: string | null;
  readonly status: number;
  readonly exitCode: number;

  constructor(code: ServerErrorCode, message: string, options?: ErrorOptions & { param?: string }) {
    super(message, options);
    this.name = 'ServerError';
    this.code = code;
    this.param = options?.param ?? null;
    this.status = CODES[code].status;
    this.exitCode = CODES[code].exit;
  }

  /** The error as OpenAI's clients expect it. */
  toBody(): ErrorBody {
    const { message, code, param } = this;
    return { error: { message, type: CODES[code].type, param, code } };
  }
}
