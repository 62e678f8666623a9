// Earlier captures as the other side of a comparison: every capture in a folder is one run of the reference, measured by
// the same method or refused. It reads records and trees; the arithmetic is in gap.ts and flame-tree.ts.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { HarnessError } from '../errors.ts';
import { type AttributionBody, attributionBodySchema } from './attribution-record.ts';
import type { FlameNode } from './flame-tree.ts';
import type { GapRun, GapSide } from './gap.ts';

/** How spans are measured here: by the engine's own stamps, forward pass and sampling of decode-only steps. */
const SPAN_METHOD = 'engine step stamps, decode-only steps';

const flameSchema: z.ZodType<FlameNode> = z.lazy(() =>
  z.strictObject({
    name: z.string(),
    samples: z.number(),
    ms: z.number(),
    children: z.array(flameSchema),
  }),
);

/** What must be equal for two captures to be compared. */
export type Load = Pick<
  AttributionBody['workload'],
  'concurrency' | 'inputTokens' | 'outputTokens'
>;

function readJson<T>(file: string, schema: z.ZodType<T>): T {
  try {
    return schema.parse(JSON.parse(readFileSync(file, 'utf8')));
  } catch (cause) {
    throw new HarnessError('INVALID_FILE', `${file} is not from a capture of this version`, {
      cause,
    });
  }
}

/** The folders of captures below (or at) this one, oldest first; INVALID_FILE when there is none. */
function captureFolders(root: string): string[] {
  if (existsSync(join(root, 'attribution.json'))) return [root];
  const names = existsSync(root) ? readdirSync(root).sort() : [];
  const found = names
    .map((name) => join(root, name))
    .filter((f) => existsSync(join(f, 'attribution.json')));
  if (found.length > 0) return found;
  throw new HarnessError(
    'INVALID_FILE',
    `${root} holds no capture (no attribution.json in it or below it)`,
    {
      hint: 'Name the evidence folder of an earlier bench attribute.',
    },
  );
}

/** Call tree of the latest capture of the reference; undefined when it was made without samples. */
export function referenceTree(root: string): FlameNode | undefined {
  const files = captureFolders(root)
    .map((folder) => join(folder, 'flame.json'))
    .filter((file) => existsSync(file));
  const last = files.at(-1);
  return last === undefined ? undefined : readJson(last, flameSchema);
}

const valid = ({ gates }: AttributionBody) => gates.every((gate) => gate.status !== 'failed');

/** All valid captures of the reference as one side; USAGE for another load, or a server without a step trace. */
export function referenceSide(root: string, workload: Load): GapSide {
  const bodies = captureFolders(root).map((folder) =>
    readJson(join(folder, 'attribution.json'), attributionBodySchema),
  );
  for (const { workload: other } of bodies)
    for (const key of ['concurrency', 'inputTokens', 'outputTokens'] as const)
      if (other[key] !== workload[key])
        throw new HarnessError(
          'USAGE',
          `the reference was measured with ${key} ${other[key]}, this one with ${workload[key]}`,
          {
            hint: 'Compare captures of the same load.',
          },
        );
  const runs = bodies.filter(valid).flatMap((body) => body.decodeRun ?? []);
  if (runs.length === 0)
    throw new HarnessError(
      'USAGE',
      `${root} holds no valid capture of a server that traces its steps`,
      {
        hint: 'A gap needs the same method on both sides: engine step stamps.',
      },
    );
  return { name: bodies.at(-1)?.target.name ?? root, method: SPAN_METHOD, steps: 'decode', runs };
}

/** Earlier captures of our side in the same evidence folder at the same load, as further runs. */
export function earlierRuns(root: string, name: string, workload: Load): GapRun[] {
  if (!existsSync(root)) return [];
  return readdirSync(root)
    .map((entry) => join(root, entry, 'attribution.json'))
    .filter((file) => existsSync(file))
    .map((file) => readJson(file, attributionBodySchema))
    .filter(valid)
    .filter(
      ({ target, workload: w }) =>
        target.name === name &&
        w.concurrency === workload.concurrency &&
        w.inputTokens === workload.inputTokens &&
        w.outputTokens === workload.outputTokens,
    )
    .flatMap((body) => body.decodeRun ?? []);
}
