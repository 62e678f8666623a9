// `model list` and `model inspect`: what can be served, and what a model is made of, as text or as JSON.
import Table from 'cli-table3';
import { Command } from 'commander';
import { inspectModel, type ModelInspection } from './model/inspect-model.ts';
import { listModels, type ModelSummary } from './model/list-models.ts';

type Print = (text: string) => void;

/** Bytes in the unit that people read: "12.3 MB". */
function readableBytes(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  const step = Math.min(units.length - 1, Math.floor(Math.log10(Math.max(1, bytes)) / 3));
  return `${(bytes / 1000 ** step).toFixed(step === 0 ? 0 : 1)} ${units[step]}`;
}

function listText(models: readonly ModelSummary[]): string {
  const table = new Table({
    head: ['--model', 'kind', 'size', 'on disk', 'note'],
    style: { head: [], border: [] },
  });
  for (const { spec, kind, fileBytes, present, note } of models) {
    table.push([spec, kind, readableBytes(fileBytes), present ? 'yes' : 'made at first use', note]);
  }
  return table.toString();
}

function inspectionText(model: ModelInspection): string {
  const { architecture, layers, width, heads, kvHeads, headWidth, feedForwardWidth } = model;
  const lines: [string, string][] = [
    ['model', model.name + (model.synthetic ? ' (synthetic)' : '')],
    ['file', `${model.path} (${readableBytes(model.fileBytes)})`],
    ['sha256', model.sha256],
    ['parameters', `${(model.parameters / 1e6).toFixed(1)} million, ${model.quantisation}`],
    [
      'architecture',
      `${architecture}, ${layers} layers of width ${width}, feed-forward ${feedForwardWidth}`,
    ],
    ['attention', `${heads} heads of ${headWidth}, ${kvHeads} for keys and values`],
    [
      'context',
      `${model.contextLength} tokens, ${readableBytes(model.kvBytesPerToken)} of bf16 KV each`,
    ],
    ['vocabulary', `${model.vocabulary}, text ends with ${model.eosIds.join(', ') || 'none'}`],
    ['chat template', model.chatTemplate ? 'yes' : 'no'],
    ...model.tensors.map(({ type, count, bytes }): [string, string] => {
      return [`${type} tensors`, `${count} (${readableBytes(bytes)})`];
    }),
    ...model.warnings.map((warning): [string, string] => ['note', warning]),
  ];
  return lines.map(([name, value]) => `${name.padEnd(16)}${value}`).join('\n');
}

/** The command; what it says goes to `print`. */
export function modelCommand(print: Print): Command {
  const command = new Command('model').description('what can be served');
  command
    .command('list')
    .description('the models that can be named without a path')
    .option('--json', 'as JSON')
    .action(({ json }: { json?: boolean }) => {
      const models = listModels();
      print(json ? JSON.stringify(models, null, 2) : listText(models));
    });
  command
    .command('inspect')
    .argument('<model>', 'a folder, a GGUF file, or synthetic:NAME')
    .description('what a model is made of')
    .option('--json', 'as JSON')
    .action(async (spec: string, { json }: { json?: boolean }) => {
      const inspection = await inspectModel(spec);
      print(json ? JSON.stringify(inspection, null, 2) : inspectionText(inspection));
    });
  return command;
}
