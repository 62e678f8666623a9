// `bench model list` and `bench model inspect SPEC`: which models there are, and what one of them is and needs.
import Table from 'cli-table3';
import { Command } from 'commander';
import { inspectModel } from './model/inspect-model.ts';
import { listModels } from './model/list-models.ts';

const MEGABYTE = 1e6;

export function modelCommand(): Command {
  const command = new Command('model').description('models: list, inspect');
  command
    .command('list')
    .description('models that can be named without a path')
    .option('--json', 'print JSON')
    .action((options: { json?: boolean }) => {
      const models = listModels();
      console.log(options.json ? JSON.stringify(models, null, 2) : listTable(models));
    });
  command
    .command('inspect <spec>')
    .description('shape, tensors, memory needs and sha256 of a model')
    .option('--json', 'print JSON')
    .action(async (spec: string, options: { json?: boolean }) => {
      const inspection = await inspectModel(spec);
      console.log(options.json ? JSON.stringify(inspection, null, 2) : inspectionTable(inspection));
    });
  return command;
}

function megabytes(bytes: number): string {
  return `${(bytes / MEGABYTE).toFixed(1)} MB`;
}

function listTable(models: ReturnType<typeof listModels>): string {
  const table = new Table({
    head: ['model', 'size', 'on disk', 'what'],
    style: { head: [], border: [] },
  });
  for (const { spec, fileBytes, present, note } of models) {
    table.push([spec, megabytes(fileBytes), present ? 'yes' : 'at first use', note]);
  }
  return table.toString();
}

function inspectionTable(inspection: Awaited<ReturnType<typeof inspectModel>>): string {
  const table = new Table({ style: { head: [], border: [] } });
  const { tensors, warnings, ...fields } = inspection;
  const rows: [string, string][] = [
    ['name', `${fields.name}${fields.synthetic ? ' (synthetic)' : ''}`],
    ['file', `${fields.path} (${megabytes(fields.fileBytes)})`],
    ['sha256', fields.sha256],
    ['architecture', `${fields.architecture}, ${fields.layers} layers, width ${fields.width}`],
    ['attention', `${fields.heads} heads, ${fields.kvHeads} KV heads, width ${fields.headWidth}`],
    ['feed-forward', `${fields.feedForwardWidth}`],
    ['vocabulary', `${fields.vocabulary} (tokenizer: ${fields.tokens})`],
    ['context', `${fields.contextLength} tokens`],
    ['parameters', `${(fields.parameters / 1e6).toFixed(1)} million, ${fields.quantisation}`],
    ...tensors.map(({ type, count, bytes }): [string, string] => [
      `  ${type}`,
      `${count} tensors, ${megabytes(bytes)}`,
    ]),
    ['KV cache', `${(fields.kvBytesPerToken / 1024).toFixed(1)} KiB a token (bf16)`],
    ['ends a text', fields.eosIds.join(', ') || 'nothing'],
    ['chat template', fields.chatTemplate ? 'yes' : 'no'],
    ...warnings.map((warning): [string, string] => ['warning', warning]),
  ];
  for (const row of rows) table.push(row);
  return table.toString();
}
