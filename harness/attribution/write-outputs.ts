// Writes what a capture gives to other tools: flame graphs, folded stacks, speedscope, Firefox Profiler; and looks up the
// source lines of the top functions. Everything lies in the evidence folder.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type SourceLine, sourceLines } from './addr2line.ts';
import type { Analysis } from './capture.ts';
import { flameDiffHtml, flameHtml } from './flame-html.ts';
import { type FlameNode, flameDiff, flameTree, foldedStacks } from './flame-tree.ts';
import { isPerfMap } from './folding.ts';
import { jsDefinition } from './perf-map.ts';
import { firefoxProfile, speedscope } from './profile-files.ts';

/** Where a function is: key "dso\tsymbol" to "file:line" or what is known instead. */
export type FunctionLines = ReadonlyMap<string, string>;

export const functionKey = (f: { dso: string; symbol: string }) => `${f.dso}\t${f.symbol}`;

/** Writes the files and returns the source lines of the top functions; nothing is written without samples. */
export async function writeOutputs(
  folder: string,
  name: string,
  analysis: Analysis,
  reference: FlameNode | undefined,
): Promise<FunctionLines> {
  const { profiles, stepMs } = analysis;
  if (profiles.length === 0) return new Map();
  const tree = flameTree(profiles);
  const write = (file: string, text: string) => writeFileSync(join(folder, file), text);
  write('flame.json', JSON.stringify(tree));
  write('flame.html', flameHtml(`${name}: CPU per step of ${stepMs.toFixed(2)} ms`, tree));
  write('stacks.folded', foldedStacks(profiles));
  write('profile.speedscope.json', JSON.stringify(speedscope(name, profiles)));
  write('profile.firefox.json', JSON.stringify(firefoxProfile(name, 1, profiles)));
  if (reference)
    write(
      'flame-diff.html',
      flameDiffHtml(`${name}: change of CPU per step`, flameDiff(reference, tree)),
    );
  return functionLines(analysis, join(folder, '..', 'source-lines'));
}

async function functionLines(analysis: Analysis, cache: string): Promise<FunctionLines> {
  const lines = new Map<string, string>();
  const byDso = new Map<string, { key: string; ip: string }[]>();
  for (const { functions } of analysis.profiles)
    for (const f of functions) {
      const js = jsDefinition(f.symbol);
      const key = functionKey(f);
      if (js) lines.set(key, `defined at ${shorten(js.file)}:${js.line} (${js.tier})`);
      else if (isPerfMap(f.dso)) lines.set(key, 'no name in the perf map');
      else if (f.dso.startsWith('[')) lines.set(key, f.dso);
      else {
        const list = byDso.get(f.dso) ?? [];
        list.push({ key, ip: f.addresses[0]?.ip ?? '0' });
        byDso.set(f.dso, list);
      }
    }
  for (const [dso, list] of byDso) {
    const found = await sourceLines(
      dso,
      list.map((item) => item.ip),
      cache,
    );
    for (const { key, ip } of list) lines.set(key, describe(found.get(ip)));
  }
  return lines;
}

function describe(line: SourceLine | undefined): string {
  if (!line) return 'binary not found';
  const outer = line.functions.slice(1);
  const where = shorten(line.line);
  return outer.length > 0 ? `${where} (inlined into ${outer.at(-1)})` : where;
}

/** The last three parts of a path: where the project lies on this machine is no matter of the record. */
const shorten = (path: string) => path.split('/').slice(-3).join('/');
