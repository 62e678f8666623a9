// A small process between us and a foreign engine: it starts the engine in a process group of its own, says its pid, and ends
// the whole group when its own standard input closes, which happens however we die. Arguments: the engine's command.
import { spawn } from 'node:child_process';

const KILL_AFTER_MS = 3000;

const [program = '', ...args] = process.argv.slice(2);
const engine = spawn(program, args, { detached: true, stdio: ['ignore', 2, 2] });

function endGroup(signal: NodeJS.Signals): void {
  try {
    if (engine.pid !== undefined) process.kill(-engine.pid, signal);
  } catch {
    // The group is empty.
  }
}

function end(): void {
  endGroup('SIGTERM');
  setTimeout(() => endGroup('SIGKILL'), KILL_AFTER_MS).unref();
}

engine.once('spawn', () => process.stdout.write(`${engine.pid}\n`));
engine.once('error', (error) => {
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 127;
  process.stdin.destroy();
});
engine.once('exit', (code) => {
  // Workers that outlive their parent belong to the engine too.
  endGroup('SIGKILL');
  process.exitCode = code ?? 1;
  process.stdin.destroy();
});
process.stdin.on('end', end).on('error', end).resume();
process.on('SIGTERM', end);
process.on('SIGINT', end);
