// Class rules for servers that we know, beside the built-in ones: which of their own functions are which kind of work.
// Data only; an arm's own rules come before these.
import type { ClassRule } from './symbol-classes.ts';

export const CLASS_PRESETS: Readonly<Record<string, readonly ClassRule[]>> = {
  mxbench: [
    { class: 'spin', symbol: '^mxbench::Team::(Barrier|Wait|Pause)' },
    { class: 'spin', symbol: '^mxbench::Team::Work', leaf: true },
    {
      class: 'matrix',
      symbol:
        '^mxbench::.*(RunTokens|Int8Kernel|RunRowTiles|RunMatrices|MultiplyTile|Mxfp4Int8|PackInt8|PackBfloat16|PackedInput|DecodeRow)',
    },
    {
      class: 'attention',
      symbol:
        '^mxbench::(lanes::(AddValues|ScoreBlocks|Attend|Softmax|Rotate)|.*StoreKv|.*MergeSpan|Attention::)',
    },
    {
      class: 'sampling',
      symbol: '^mxbench::(.*Argmax|Engine::(Sample|Logits|Head)|EngineObject::(Sample|Logits))',
    },
    { class: 'normalisation-and-glue', symbol: '^mxbench::(lanes::|Engine::)' },
  ],
  // oneDNN makes its matrix kernels at run time, without names; the compiler of torch fuses the rest.
  vllm: [
    { class: 'matrix', symbol: '^\\[unknown\\]$', dso: '/perf-\\d+\\.map$', leaf: true },
    { class: 'normalisation-and-glue', symbol: '_omp_fn|^kernel$', dso: 'inductor', leaf: true },
  ],
};
