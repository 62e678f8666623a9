// `bench serve` and `bench model`: the bundled server's own command line, as a process of its own. Everything after the
// name goes to it unchanged; its exit code is ours.
import { type ChildProcess, spawn } from 'node:child_process';
import { SERVER_MAIN } from '../arms/bundled.ts';
import { EXIT } from '../errors.ts';

/** Runs the server's command to its end. */
export async function serverCommand(name: 'serve' | 'model', args: string[]): Promise<number> {
  if (name === 'model')
    return ended(spawn(process.execPath, [SERVER_MAIN, name, ...args], { stdio: 'inherit' }));
  // A pipe as standard input ends the server with us even when we are killed; a session of its own leaves Ctrl-C to us.
  const child = spawn(process.execPath, [SERVER_MAIN, name, '--exit-with-parent', ...args], {
    stdio: ['pipe', 'inherit', 'inherit'],
    detached: true,
  });
  child.stdin?.on('error', () => undefined);
  if (args.includes('--exit-with-parent')) {
    process.stdin.on('end', () => child.stdin?.end());
    process.stdin.resume();
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => child.kill(signal));
  }
  const code = await ended(child);
  process.stdin.pause();
  return code;
}

function ended(child: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code, signal) => {
      resolve(code ?? (signal === 'SIGINT' ? EXIT.interrupted : EXIT.bug));
    });
  });
}
