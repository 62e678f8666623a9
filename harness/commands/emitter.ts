// `bench emitter`: a server that emits tokens on a known schedule, for trying this and other harnesses.
import { startEmitter } from '../emitter/emitter.ts';
import { emitterOptionsSchema } from '../emitter/options.ts';
import { parseFlags } from '../scenario/flags.ts';
import type { CommandContext } from './context.ts';

/** Serves until it is interrupted. */
export async function emitterCommand(given: unknown, context: CommandContext): Promise<number> {
  const emitter = await startEmitter(parseFlags(emitterOptionsSchema, numbers(given)));
  console.log(`mxbench emitter: ready on ${emitter.baseUrl}`);
  await new Promise<void>((resolve) => {
    if (context.signal.aborted) resolve();
    context.signal.addEventListener('abort', () => resolve());
  });
  await emitter.close();
  return 0;
}

/** Flags arrive as text; the schema wants numbers where numbers are meant. */
function numbers(given: unknown): Record<string, unknown> {
  const fields = Object.entries(given as Record<string, unknown>);
  return Object.fromEntries(
    fields.map(([key, value]) => [
      key,
      typeof value === 'string' && /^-?\d+(\.\d+)?$/.test(value) ? Number(value) : value,
    ]),
  );
}
