#!/usr/bin/env node
// The `bench` command: declares commands and flags, and turns errors into one sentence and an exit code. The only place that
// exits, and the only one of the harness that reads the environment.
import { Command, CommanderError } from 'commander';
import type { CommandContext } from './commands/context.ts';
import { emitterCommand } from './commands/emitter.ts';
import { serverCommand } from './commands/server.ts';
import { sweepCommand } from './commands/sweep.ts';
import { emitterOptionsSchema } from './emitter/options.ts';
import { EXIT, HarnessError } from './errors.ts';
import { harnessVersion } from './record/harness-identity.ts';
import { declareFlags } from './scenario/flags.ts';
import { sweepOptions } from './scenario/sweep-options.ts';

const REPORT_BUGS =
  'This is a bug in bench. Please report it with the lines above and the command.';
const EXIT_CODES = `
Exit codes: 0 fine, 1 a floor is broken, 2 wrong usage or file, 3 VOID, 4 pending, 70 a bug, 130 interrupted.`;

let exitCode: number = EXIT.ok;

function commandContext(): CommandContext {
  const controller = new AbortController();
  const interrupt = () => {
    // The second time people mean it.
    if (controller.signal.aborted) process.exit(EXIT.interrupted);
    controller.abort();
  };
  process.on('SIGINT', interrupt);
  process.on('SIGTERM', interrupt);
  const { XDG_RUNTIME_DIR: runtime, HOME: home } = process.env;
  return { signal: controller.signal, lockScope: runtime ?? home ?? '/', now: () => new Date() };
}

type Run = (
  given: Record<string, unknown>,
  context: CommandContext,
  args: string[],
) => Promise<number>;

function action(run: Run) {
  return async (...all: unknown[]) => {
    const command = all.at(-1) as Command;
    exitCode = await run(command.opts(), commandContext(), command.args);
  };
}

function example(command: Command, line: string): Command {
  return command.addHelpText('after', `\nExample:\n  ${line}`);
}

function passThrough(name: 'serve' | 'model', description: string): Command {
  return new Command(name)
    .description(description)
    .argument('[arguments...]')
    .helpOption(false)
    .allowUnknownOption()
    .action(async (args: string[]) => {
      exitCode = await serverCommand(name, args);
    });
}

function buildProgram(): Command {
  const program = new Command('bench')
    .description(
      'Is our LLM server as fast as the reference on the same work, and if not, where does the time go?',
    )
    .version(harnessVersion(), '-V, --version')
    .enablePositionalOptions()
    .addHelpText('after', `${EXIT_CODES}\n\nStart here:\n  bench sweep --concurrency 1,2,4,8`);
  const sweep = new Command('sweep').description(
    'measure a server at several concurrencies; write a record',
  );
  declareFlags(sweep, sweepOptions).action(action(sweepCommand));
  example(sweep, 'bench sweep --url http://127.0.0.1:8000 --concurrency 1,8');
  const emitter = new Command('emitter').description(
    'a server that emits tokens on a known schedule',
  );
  declareFlags(emitter, emitterOptionsSchema).action(action(emitterCommand));
  example(emitter, 'bench emitter --ttft-ms 50 --itl-ms 10');
  program.addCommand(sweep);
  program.addCommand(passThrough('serve', 'run the bundled server alone (bench serve --model M)'));
  program.addCommand(passThrough('model', 'bench model list | inspect MODEL'));
  program.addCommand(emitter);
  return program;
}

function explain(error: unknown): number {
  if (error instanceof CommanderError) {
    // Help and version are no errors; commander has printed the others already.
    return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
  }
  if (error instanceof HarnessError) {
    console.error(`error: ${error.message}\n${error.hint}`);
    return error.exitCode;
  }
  console.error(error);
  console.error(REPORT_BUGS);
  return EXIT.bug;
}

function everyCommand(command: Command): Command[] {
  return [command, ...command.commands.flatMap(everyCommand)];
}

async function main(): Promise<void> {
  const program = buildProgram();
  for (const command of everyCommand(program)) command.exitOverride();
  try {
    await program.parseAsync();
  } catch (error) {
    exitCode = explain(error);
  }
  process.exit(exitCode);
}

await main();
