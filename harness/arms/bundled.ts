// Starts the bundled server as a process of its own, the way a user would, and leaves none behind: it exits by itself
// when our end of its standard input closes, however we die.
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { HarnessError } from '../errors.ts';
import { type ChildServer, takeCharge } from './child-server.ts';

export interface BundledOptions {
  /** A folder, a GGUF file or synthetic:NAME. */
  model: string;
  /** Flags for `serve` beside --model and --port. */
  flags: readonly string[];
  /** The server of another revision; this one's when absent. */
  serverMain?: string;
  signal: AbortSignal;
}

export interface BundledServer {
  baseUrl: string;
  pid: number;
  /** How it was started, for the record. */
  command: string[];
  /** That and how the process has ended, with its last words; undefined while it runs. */
  gone(): string | undefined;
  /** Ends it: asked first, killed after a few seconds. */
  stop(): Promise<void>;
}

export const SERVER_MAIN = fileURLToPath(new URL('../../server/main.js', import.meta.url));
/** A large model is read and repacked before the server is ready. */
const START_TIMEOUT_MS = 600_000;

/** Resolves when the server says where it listens. SERVER_NOT_READY or USAGE carries the server's own words. */
export async function startBundled(options: BundledOptions): Promise<BundledServer> {
  const { model, flags, signal, serverMain = SERVER_MAIN } = options;
  const shown = ['serve', '--model', model, ...flags];
  const fixed = ['--host', '127.0.0.1', '--port', '0', '--exit-with-parent'];
  const child = spawn(process.execPath, [serverMain, ...shown, ...fixed], {
    stdio: ['pipe', 'pipe', 'pipe'],
    // Not in our process group: Ctrl-C goes to us alone, and we end the server in order.
    detached: true,
  });
  const server = takeCharge(child);
  try {
    const baseUrl = await readyAddress(server, signal);
    const { stop } = server;
    const gone = () => (server.hasEnded() ? startFailure(server).message : undefined);
    return { baseUrl, pid: child.pid ?? 0, command: ['bench', ...shown], gone, stop };
  } catch (error) {
    await server.stop();
    throw error;
  }
}

function readyAddress(server: ChildServer, signal: AbortSignal): Promise<string> {
  const { child } = server;
  return new Promise((resolve, reject) => {
    let output = '';
    const settle = (act: () => void) => {
      clearTimeout(timer);
      signal.removeEventListener('abort', interrupted);
      act();
    };
    const interrupted = () =>
      settle(() =>
        reject(new HarnessError('INTERRUPTED', 'Interrupted while the server was starting.')),
      );
    const timer = setTimeout(
      () =>
        settle(() =>
          reject(
            notReady(`it was not ready within ${START_TIMEOUT_MS / 1000} s`, server.lastWords()),
          ),
        ),
      START_TIMEOUT_MS,
    );
    signal.addEventListener('abort', interrupted);
    if (signal.aborted) interrupted();
    child.stdout?.setEncoding('utf8');
    child.stdout?.on('data', (text: string) => {
      output += text;
      const url = /ready on (http:\/\/\S+)/.exec(output)?.[1];
      if (url !== undefined) settle(() => resolve(url));
    });
    // Its last words may still be in the pipe when the exit is seen; 'close' comes after them.
    child.once('close', () => settle(() => reject(startFailure(server))));
    child.once('error', (error) =>
      settle(() => reject(notReady(error.message, server.lastWords()))),
    );
  });
}

function startFailure({ child, ending, lastWords }: ChildServer): HarnessError {
  const words = lastWords();
  const said =
    words
      .split('\n')
      .at(-1)
      ?.replace(/^mxbench (?:serve|server): /, '') ?? '';
  // Exit code 2 is the server's word for input that is wrong: its sentence is the one that helps.
  if (child.exitCode === 2 && said !== '') {
    return new HarnessError('USAGE', said, { hint: 'See: bench sweep --help' });
  }
  return notReady(`it ended with ${ending()}`, words);
}

function notReady(reason: string, words: string): HarnessError {
  const hint =
    words === '' ? 'It said nothing; try: bench serve --model MODEL' : `It said: ${words}`;
  return new HarnessError('SERVER_NOT_READY', `The bundled server did not start: ${reason}.`, {
    hint,
  });
}
