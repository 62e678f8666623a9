// One measuring run at a time. The lock is a socket in Linux's abstract name space: the kernel gives the name to one
// process and takes it back when that process ends, however it ends, so no stale lock can exist and no file lies about.
import { createHash } from 'node:crypto';
import { connect, createServer } from 'node:net';
import { HarnessError } from '../errors.ts';

export interface RunLock {
  release(): Promise<void>;
}

const ANSWER_TIMEOUT_MS = 1000;

/** Takes the lock of this scope (the user's runtime folder); ALREADY_RUNNING names the owner's pid and command. */
export async function takeRunLock(scope: string, command: string): Promise<RunLock> {
  const name = `\0mxbench-run-${createHash('sha256').update(scope).digest('hex').slice(0, 16)}`;
  const owner = `${process.pid} (bench ${command})`;
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.end(owner);
  });
  const taken = await new Promise<boolean>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') resolve(false);
      else reject(error);
    });
    server.listen(name, () => resolve(true));
  });
  if (!taken) {
    const holder = await askOwner(name);
    throw new HarnessError(
      'ALREADY_RUNNING',
      `Another run is measuring on this machine: process ${holder}.`,
    );
  }
  server.unref();
  return { release: () => new Promise((resolve) => server.close(() => resolve())) };
}

function askOwner(name: string): Promise<string> {
  return new Promise((resolve) => {
    let answer = '';
    const finish = () => resolve(answer === '' ? 'unknown, which does not answer' : answer);
    const socket = connect(name);
    socket.setTimeout(ANSWER_TIMEOUT_MS, () => socket.destroy());
    socket.on('data', (bytes: Buffer) => {
      answer += bytes.toString('utf8');
    });
    socket.on('error', finish);
    socket.on('close', finish);
  });
}
