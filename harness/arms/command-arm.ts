// Any engine as a command: started on a free port, ended with its whole process tree. A small guard process stands between,
// so that the engine does not outlive us however we die.
import { spawn } from 'node:child_process';
import { createServer } from 'node:net';
import { fileURLToPath } from 'node:url';
import { HarnessError } from '../errors.ts';
import type { Arm } from '../scenario/arm.ts';
import { takeCharge } from './child-server.ts';

type CommandArm = Extract<Arm, { kind: 'command' }>;

export interface StartedCommand {
  baseUrl: string;
  pid: number;
  command: string[];
  gone(): string | undefined;
  stop(): Promise<void>;
}

const GUARD = fileURLToPath(new URL('./guard.js', import.meta.url));

/** Starts the engine; whether it is ready is seen by asking it. SERVER_NOT_READY when the program is not there. */
export async function startCommand(arm: CommandArm): Promise<StartedCommand> {
  const port = await freePort();
  const command = arm.command.map((part) => part.replaceAll('{port}', String(port)));
  const given = Object.entries(arm.env).map(([name, value]) => `${name}=${value}`);
  const settings = given.length === 0 ? [] : ['env', ...given];
  const child = spawn(process.execPath, [GUARD, ...settings, ...command], {
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: true,
  });
  const server = takeCharge(child);
  const pid = await new Promise<number | undefined>((resolve) => {
    child.stdout.once('data', (bytes: Buffer) => resolve(Number(bytes.toString('utf8'))));
    child.once('close', () => resolve(undefined));
  });
  if (pid === undefined) {
    throw new HarnessError('SERVER_NOT_READY', `${command[0]} cannot be started.`, {
      hint: `It said: ${server.lastWords()}`,
    });
  }
  const gone = () =>
    server.hasEnded()
      ? `The server ${command[0]} ended with ${server.ending()}. It said: ${server.lastWords()}`
      : undefined;
  const { stop } = server;
  return { baseUrl: `http://127.0.0.1:${port}`, pid, command, gone, stop };
}

function freePort(): Promise<number> {
  const probe = createServer();
  return new Promise((resolve, reject) => {
    probe.once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address();
      const port = typeof address === 'object' && address !== null ? address.port : 0;
      probe.close(() => resolve(port));
    });
  });
}
