// The tensor types that the engine computes with, and how many bytes their rows take.
import type { TensorTypeName } from '../../native/index.ts';

interface TensorType {
  name: TensorTypeName;
  /** Elements that share a block, and its bytes. */
  blockElements: number;
  blockBytes: number;
}

/** By the type number that GGUF files use. */
export const TENSOR_TYPES_BY_ID: ReadonlyMap<number, TensorType> = new Map([
  [0, { name: 'F32', blockElements: 1, blockBytes: 4 }],
  [1, { name: 'F16', blockElements: 1, blockBytes: 2 }],
  [8, { name: 'Q8_0', blockElements: 32, blockBytes: 34 }],
  [30, { name: 'BF16', blockElements: 1, blockBytes: 2 }],
  [39, { name: 'MXFP4', blockElements: 32, blockBytes: 17 }],
]);

/** Names of types that files contain and the engine does not compute with, for a clear refusal. */
const OTHER_TYPES: ReadonlyMap<number, string> = new Map([
  [2, 'Q4_0'],
  [3, 'Q4_1'],
  [6, 'Q5_0'],
  [7, 'Q5_1'],
  [9, 'Q8_1'],
  [10, 'Q2_K'],
  [11, 'Q3_K'],
  [12, 'Q4_K'],
  [13, 'Q5_K'],
  [14, 'Q6_K'],
  [15, 'Q8_K'],
  [16, 'IQ2_XXS'],
  [17, 'IQ2_XS'],
  [18, 'IQ3_XXS'],
  [19, 'IQ1_S'],
  [20, 'IQ4_NL'],
  [21, 'IQ3_S'],
  [22, 'IQ2_S'],
  [23, 'IQ4_XS'],
  [24, 'I8'],
  [25, 'I16'],
  [26, 'I32'],
  [27, 'I64'],
  [28, 'F64'],
  [29, 'IQ1_M'],
  [34, 'TQ1_0'],
  [35, 'TQ2_0'],
  [40, 'NVFP4'],
]);

export function tensorTypeName(id: number): string {
  return TENSOR_TYPES_BY_ID.get(id)?.name ?? OTHER_TYPES.get(id) ?? `number ${id}`;
}
