// The server's command line: `serve` and `model`. It prints one line when the server is ready, one line when something
// is wrong, and turns signals into an orderly end.
import { Command, CommanderError } from 'commander';
import { flagHelp, parseFlags } from './config.ts';
import { ServerError } from './errors.ts';
import { modelCommand } from './model-command.ts';
import { type RunningServer, startServer } from './serve.ts';

const USAGE_EXIT = 2;
const BUG_EXIT = 70;

function serveCommand(): Command {
  const command = new Command('serve').description('serve one model over the OpenAI API');
  for (const { flag, description, isSwitch } of flagHelp()) {
    command.option(isSwitch ? flag : `${flag} <value>`, description);
  }
  return command.action(async (options: Record<string, unknown>) => {
    const key = process.env['MXBENCH_API_KEY'];
    const flags = parseFlags({ ...(key && { apiKey: key }), ...options });
    if (flags.exitWithParent) exitWithParent();
    const server = await startServer(flags);
    endOnSignals(server, flags.shutdownTimeout);
    const { isa, activations, threads } = server.engine.info;
    console.log(
      `mxbench serve: ready on ${server.url} (model ${server.model.name}, isa ${isa}, activations ${activations}, ${threads} threads)`,
    );
  });
}

/** Whoever started the server holds its standard input; when that closes they are gone, however they died. */
function exitWithParent(): void {
  process.stdin.on('end', () => process.exit(0));
  process.stdin.on('error', () => process.exit(0));
  process.stdin.resume();
}

function endOnSignals(server: RunningServer, shutdownTimeoutMs: number): void {
  let stopping = false;
  const stop = (signal: NodeJS.Signals): void => {
    const exitCode = signal === 'SIGINT' ? 130 : 0;
    if (stopping) process.exit(exitCode);
    stopping = true;
    server.stop(shutdownTimeoutMs).then(
      () => process.exit(exitCode),
      (error: unknown) => {
        server.log.error({ err: error }, 'the server did not stop cleanly');
        process.exit(BUG_EXIT);
      },
    );
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
}

function report(error: unknown): number {
  const said = process.argv[2] === 'model' ? 'mxbench model: ' : 'mxbench serve: ';
  if (error instanceof CommanderError) {
    if (error.exitCode === 0) return 0;
    console.error(said + error.message.replace(/^error: /, ''));
    return USAGE_EXIT;
  }
  const { name, code, hint } = error as { name?: string; code?: unknown; hint?: unknown };
  if (error instanceof ServerError) {
    console.error(`${said}${error.message}`);
    return error.exitCode;
  }
  // The model readers and the addon have errors of their own, each with a code and a hint.
  if (error instanceof Error && typeof code === 'string' && typeof hint === 'string') {
    console.error(`${said}${error.message} ${hint}`);
    return USAGE_EXIT;
  }
  console.error(`${said}a bug (${name ?? 'unknown'}).`, error);
  return BUG_EXIT;
}

async function main(): Promise<void> {
  const program = new Command('mxbench-server').description('The bundled MXFP4 reference server.');
  program.addCommand(serveCommand()).addCommand(modelCommand((text) => console.log(text)));
  for (const command of [
    program,
    ...program.commands,
    ...program.commands.flatMap((c) => c.commands),
  ]) {
    command.exitOverride().configureOutput({ outputError: () => {} });
  }
  try {
    await program.parseAsync();
  } catch (error) {
    process.exit(report(error));
  }
}

await main();
