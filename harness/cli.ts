#!/usr/bin/env node
// The `bench` command: declares commands and flags, and turns errors into one sentence and an exit code. The only place that
// exits, and the only one of the harness that reads the environment.
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command, CommanderError } from 'commander';
import { attributeOptions } from './attribution/attribute-options.ts';
import { attributeCommand } from './commands/attribute.ts';
import { calibrateCommand } from './commands/calibrate.ts';
import { compareCommand } from './commands/compare.ts';
import type { CommandContext } from './commands/context.ts';
import { doctorCommand } from './commands/doctor.ts';
import { emitterCommand } from './commands/emitter.ts';
import { gateCommand } from './commands/gate.ts';
import { checkCommand, listCommand, showCommand, verifyCommand } from './commands/records.ts';
import { reportCommand } from './commands/report.ts';
import { serverCommand } from './commands/server.ts';
import { sweepCommand } from './commands/sweep.ts';
import { emitterOptionsSchema } from './emitter/options.ts';
import { EXIT, HarnessError } from './errors.ts';
import { harnessVersion } from './record/harness-identity.ts';
import { calibrateOptions } from './scenario/calibrate-options.ts';
import { declareFlags } from './scenario/flags.ts';
import { gateOptions } from './scenario/gate-options.ts';
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
  const { XDG_RUNTIME_DIR: runtime, XDG_CACHE_HOME: cache, HOME: home = tmpdir() } = process.env;
  return {
    signal: controller.signal,
    lockScope: runtime ?? home,
    cacheFolder: join(cache ?? join(home, '.cache'), 'mxbench'),
    onGitHub: process.env['GITHUB_ACTIONS'] === 'true',
    now: () => new Date(),
  };
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

function sweepDeclaration(): Command {
  const command = new Command('sweep')
    .description('measure a server at several concurrencies; write a record')
    .action(action(sweepCommand));
  declareFlags(command, sweepOptions);
  return example(command, 'bench sweep --url http://127.0.0.1:8000 --concurrency 1,8');
}

function doctorDeclaration(): Command {
  const command = new Command('doctor')
    .description('what this machine can do, what is missing, how quiet it is')
    .option('--json', 'print JSON')
    .action(action(doctorCommand));
  return example(command, 'bench doctor');
}

const RECORDS = ['--records <FOLDER>', 'folder of the records', 'records'] as const;

function recordsDeclaration(): Command {
  const command = new Command('records').description('list | show ID | verify ID | check');
  command
    .command('list')
    .description('one line a record')
    .option(...RECORDS)
    .option('--json', 'print JSON lines')
    .action((options) => {
      exitCode = listCommand(options);
    });
  command
    .command('show <ID>')
    .description('a record as JSON; the first characters of its id are enough')
    .option(...RECORDS)
    .option('--raw', 'with per-request data')
    .action((id, options) => {
      exitCode = showCommand(id, options);
    });
  command
    .command('verify <ID>')
    .description('compute its numbers again from its requests')
    .option(...RECORDS)
    .action((id, options) => {
      exitCode = verifyCommand(id, options);
    });
  command
    .command('check')
    .description('prove that no record was changed, cut or removed')
    .option(...RECORDS)
    .action((options) => {
      exitCode = checkCommand(options);
    });
  return example(command, 'bench records list');
}

function reportDeclaration(): Command {
  const command = new Command('report')
    .description('make BENCHMARKS.md from the records')
    .option(...RECORDS)
    .option('--benchmarks <FILE>', 'the page (default BENCHMARKS.md beside the folder)')
    .option('--check', 'only say whether the page is up to date')
    .option('--html <FILE>', 'write a report with charts as one HTML file too')
    .action((options) => {
      exitCode = reportCommand(options);
    });
  return example(command, 'bench report --check');
}

function compareDeclaration(): Command {
  const command = new Command('compare')
    .description('two sweeps side by side, if they may be compared')
    .argument('<A>')
    .argument('<B>')
    .option(...RECORDS)
    .action((a, b, options) => {
      exitCode = compareCommand(a, b, options);
    });
  return example(command, 'bench compare 1f2e3d4c 5b6a7988');
}

function gateDeclaration(): Command {
  const command = new Command('gate')
    .description('hold a comparison against its floors; the exit code is the answer')
    .action(action(gateCommand));
  declareFlags(command, gateOptions);
  return example(command, 'bench gate --floors scenarios/floors.json');
}

function calibrateDeclaration(): Command {
  const command = new Command('calibrate')
    .description('how wrong this harness is on this machine; write a record')
    .action(action(calibrateCommand));
  declareFlags(command, calibrateOptions);
  return example(command, 'bench calibrate --concurrency 1,8,64');
}

function attributeDeclaration(): Command {
  const command = new Command('attribute')
    .description('where TPOT goes: by thread, function and step; judge a premise')
    .action(action(attributeCommand));
  declareFlags(command, attributeOptions);
  return example(command, 'bench attribute --perf --concurrency 8');
}

function emitterDeclaration(): Command {
  const command = new Command('emitter')
    .description('a server that emits tokens on a known schedule')
    .action(action(emitterCommand));
  declareFlags(command, emitterOptionsSchema);
  return example(command, 'bench emitter --ttft-ms 50 --itl-ms 10');
}

function buildProgram(): Command {
  const program = new Command('bench')
    .description(
      'Is our LLM server as fast as the reference on the same work, and if not, where does the time go?',
    )
    .version(harnessVersion(), '-V, --version')
    .enablePositionalOptions()
    .addHelpText('after', `${EXIT_CODES}\n\nStart here:\n  bench sweep --concurrency 1,2,4,8`);
  const commands = [
    sweepDeclaration(),
    passThrough('serve', 'run the bundled server alone: bench serve --model synthetic:small-qwen3'),
    passThrough('model', 'models of the bundled server: bench model list'),
    doctorDeclaration(),
    attributeDeclaration(),
    recordsDeclaration(),
    reportDeclaration(),
    compareDeclaration(),
    gateDeclaration(),
    calibrateDeclaration(),
    emitterDeclaration(),
  ];
  for (const command of commands) program.addCommand(command);
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
