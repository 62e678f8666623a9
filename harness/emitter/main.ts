// The emitter as a process of its own, so that it never shares a thread with the client that it measures.
// Argument: its options as one JSON object. Tells its address to a parent by IPC, else as one line on stdout.
import { HarnessError } from '../errors.ts';
import { startEmitter } from './emitter.ts';
import { emitterOptionsSchema } from './options.ts';

/** What the parent is sent once. */
export type EmitterGreeting = { baseUrl: string } | { error: string };

function greet(greeting: EmitterGreeting): void {
  if (process.send !== undefined) process.send(greeting);
  else process.stdout.write(`${JSON.stringify(greeting)}\n`);
}

async function run(): Promise<void> {
  const options = emitterOptionsSchema.parse(JSON.parse(process.argv[2] ?? '{}'));
  const emitter = await startEmitter(options);
  greet({ baseUrl: emitter.baseUrl });
  const stop = () => void emitter.close().then(() => process.exit(0));
  // A parent that died leaves nobody to measure for.
  process.on('disconnect', stop);
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
}

run().catch((error: unknown) => {
  greet({ error: error instanceof Error ? error.message : String(error) });
  process.exit(error instanceof HarnessError ? error.exitCode : 70);
});
