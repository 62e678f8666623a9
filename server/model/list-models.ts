// The models that can be named without a path: those shipped with the package and the synthetic ones.
import { existsSync, readdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { tensorBytes } from './gguf-writer.ts';
import { SYNTHETIC_NAMES, syntheticPath } from './synthetic.ts';
import { SYNTHETIC_SHAPES, tensorsOfShape } from './synthetic-shapes.ts';

const SHIPPED = join(dirname(fileURLToPath(import.meta.url)), '..', '..', '..', 'models');

export interface ModelSummary {
  /** What --model takes. */
  spec: string;
  kind: 'shipped' | 'synthetic';
  fileBytes: number;
  /** On disk already; a synthetic model is generated at first use. */
  present: boolean;
  note: string;
}

export function listModels(): ModelSummary[] {
  return [...shippedModels(), ...syntheticModels()];
}

function shippedModels(): ModelSummary[] {
  if (!existsSync(SHIPPED)) return [];
  return readdirSync(SHIPPED, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .flatMap(({ name }) => {
      const folder = join(SHIPPED, name);
      const file = readdirSync(folder).find((entry) => entry.endsWith('.gguf'));
      if (!file) return [];
      const fileBytes = statSync(join(folder, file)).size;
      return { spec: folder, kind: 'shipped' as const, fileBytes, present: true, note: 'trained' };
    });
}

function syntheticModels(): ModelSummary[] {
  return SYNTHETIC_NAMES.map((name) => {
    const status = statSync(syntheticPath(name), { throwIfNoEntry: false });
    return {
      spec: `synthetic:${name}`,
      kind: 'synthetic',
      fileBytes: status?.size ?? plannedBytes(name),
      present: status !== undefined,
      note: SYNTHETIC_SHAPES.get(name)?.note ?? '',
    };
  });
}

/** Of the tensors; the header adds a few megabytes at most. */
function plannedBytes(name: string): number {
  const shape = SYNTHETIC_SHAPES.get(name);
  if (!shape) return 0;
  return tensorsOfShape(shape).reduce(
    (sum, [, type, extents]) => sum + tensorBytes(type, extents),
    0,
  );
}
