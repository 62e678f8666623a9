// What kind of work a stack is: kernel classes and mechanisms by rules on symbols and binaries. Pure. Rules of the arm
// come before these. A class is a label of where time goes; whether that time is on the path of TPOT is decided elsewhere.
import { z } from 'zod';
import type { Frame } from './perf-script-parser.ts';

export const STACK_CLASSES = [
  'matrix',
  'attention',
  'normalisation-and-glue',
  'sampling',
  'detokenise',
  'json-sse',
  'gc',
  'allocator',
  'system-calls',
  'loopback-peer',
  'interrupts',
  'irq-off-section',
  'page-faults',
  'spin',
  'compile',
  'javascript',
  'interpreter',
  'unresolved',
  'other',
] as const;
export type StackClass = (typeof STACK_CLASSES)[number];

export const classRuleSchema = z.strictObject({
  class: z.enum(STACK_CLASSES),
  symbol: z.string().min(1).describe('regular expression on the function name'),
  dso: z.string().min(1).optional().describe('regular expression on the binary'),
  leaf: z
    .boolean()
    .optional()
    .describe('true: only where the function itself runs, not what it calls'),
});
export type ClassRule = z.infer<typeof classRuleSchema>;

const KERNEL = '[kernel.kallsyms]';
const inKernel = (frame: Frame) =>
  frame.dso === KERNEL || frame.dso === '[guest.kernel.kallsyms]' || frame.dso.endsWith('.ko');

const GC =
  /Heap::(CollectGarbage|Scavenge|MarkCompact|PerformGarbage)|Scaveng|ConcurrentMarking|MarkCompactCollector|Sweeper::|MinorMarkSweep|MarkingVisitor|gc_collect_main|_PyGC/;
const SPIN =
  /clock_gettime|sched_yield|cpu_relax|^ggml_barrier|gomp_(team_)?barrier_wait|do_spin|kmp_flag_|__kmp_(hyper|wait|fork_barrier|join_barrier|x86_pause|flag)|cuStreamSynchronize|cuEventQuery|cuCtxSynchronize|spin_wait|spinWait|await_work/i;
const LAUNCH = /cu(da)?Launch|cuGraphLaunch|cu(da)?Memcpy/;
const SEND = /tcp_sendmsg|sock_write_iter|sock_sendmsg|__sys_send/;
const RECEIVE = /net_rx_action|process_backlog|__napi_poll|tcp_v[46]_rcv|ip_rcv/;
const SOFTIRQ = /softirq|irq_exit|sysvec_|asm_common_interrupt|hrtimer_interrupt/;
const IRQ_OFF =
  /irq_enable|unlock_irqrestore|unlock_irq$|local_irq_restore|finish_task_switch|finish_lock_switch/;
const FAULT = /page_fault|handle_mm_fault|do_anonymous_page|clear_page/;
const ALLOCATOR =
  /^(_int_|__libc_)?(malloc|free|calloc|realloc|memalign|malloc_consolidate|unlink_chunk)|^operator (new|delete)|^(je|tc|mi|sys)_?(malloc|free|alloc)|^cfree|tcache_(get|put)|^sysmalloc/;
const COMPILE =
  /maglev::|compiler::|turboshaft|Compiler::|baseline::|OptimizedCompilationJob|OptimizingCompile|TurbofanCompil|interpreter::BytecodeGenerator/;

// Tried on each user frame from the leaf outwards: the innermost that is known names the work.
const WORK: readonly [StackClass, RegExp][] = [
  [
    'attention',
    /attention|flash_attn|fattn|softmax|soft_max|paged_attn|(^|[_:])rope([_:<(]|$)|attn_|^Attn|_attn/i,
  ],
  [
    'matrix',
    /gemm|gemv|matmul|mul_mat|matvec|vec_dot|linear_layer|dgemm|sgemm|brgemm|mxfp4_(dot|row|gem)|expert|moe_|dot_product|tinyBLAS|mkldnn|onednn|dnnl|cblas|quantize_|quantise_/i,
  ],
  [
    'normalisation-and-glue',
    /rms_?norm|layer_?norm|norm_f32|silu|swiglu|gelu|elementwise|vectorized_loop|residual|embedding|get_rows|ggml_compute_forward|add_kernel|copy_kernel|cpy_/i,
  ],
  ['sampling', /sampl|argmax|top_?k|top_?p|logit|multinomial|penalt/i],
  [
    'detokenise',
    /detok|incremental_?decod|token_to_piece|decode_stream|DecodeStream|decodeStream/i,
  ],
  [
    'json-sse',
    /json|(^|[^a-z])sse([^a-z]|$)|SseWriter|nlohmann|_http_|llhttp|httplib|stream_base|StreamBase|StreamWrap|internal\/streams|node:net|node:http|writable|fastify|uvicorn|starlette|fastapi|Utf8|utf8/i,
  ],
];

function kernelClass(frames: readonly Frame[]): StackClass {
  const names = frames.filter(inKernel).map((frame) => frame.symbol);
  const has = (pattern: RegExp) => names.some((name) => pattern.test(name));
  // A write to 127.0.0.1 runs the receiving side's protocol work on the sender's thread.
  if (has(RECEIVE) && has(SEND)) return 'loopback-peer';
  if (has(/sched_yield/)) return 'spin';
  if (has(SOFTIRQ)) return 'interrupts';
  if (IRQ_OFF.test(names[0] ?? '')) return 'irq-off-section';
  if (has(FAULT)) return 'page-faults';
  return names.every((name) => name === '[unknown]') ? 'unresolved' : 'system-calls';
}

function isSpin(frames: readonly Frame[]): boolean {
  const leaf = frames[0];
  if (!leaf) return false;
  if (leaf.dso === '[vdso]' || SPIN.test(leaf.symbol)) return true;
  // An OpenMP runtime without symbols: what it does by itself is wait at barriers.
  if (/lib(g|i)?omp[^/]*\.so/.test(leaf.dso) && leaf.symbol === '[unknown]') return true;
  if (/libcuda\.so/.test(leaf.dso)) return !frames.some((frame) => LAUNCH.test(frame.symbol));
  return false;
}

export type Classify = (frames: readonly Frame[]) => StackClass;

interface CompiledRule {
  class: StackClass;
  symbol: RegExp;
  dso: RegExp | undefined;
  leaf: boolean;
}

/** The first rule that fits, from the leaf outwards; kernel time belongs to the kernel, unless the caller only waits. */
function ownClass(
  rules: readonly CompiledRule[],
  frames: readonly Frame[],
): StackClass | undefined {
  const kernel = frames[0] !== undefined && inKernel(frames[0]);
  for (const [depth, frame] of frames.entries())
    for (const rule of rules) {
      if ((rule.leaf && depth > 0) || (kernel && rule.class !== 'spin')) continue;
      if (rule.symbol.test(frame.symbol) && (!rule.dso || rule.dso.test(frame.dso)))
        return rule.class;
    }
  return undefined;
}

/** A classifier (leaf-first frames to class) that tries the given rules before the built-in ones. */
export function stackClassifier(own: readonly ClassRule[] = []): Classify {
  const rules = own.map((rule) => ({
    class: rule.class,
    symbol: new RegExp(rule.symbol, 'u'),
    dso: rule.dso === undefined ? undefined : new RegExp(rule.dso, 'u'),
    leaf: rule.leaf === true,
  }));
  return (frames) => ownClass(rules, frames) ?? builtInClass(frames);
}

/** Node's own binary, or code that V8 made: other runtimes make code without names too. */
const isNodesOwn = ([leaf, ...callers]: readonly Frame[]) =>
  leaf !== undefined &&
  (/\/node$/.test(leaf.dso) ||
    (/\/perf-\d+\.map$/.test(leaf.dso) && callers.some((frame) => /\/node$/.test(frame.dso))));

function builtInClass(frames: readonly Frame[]): StackClass {
  const leaf = frames[0];
  if (!leaf) return 'unresolved';
  if (frames.some((frame) => GC.test(frame.symbol))) return 'gc';
  if (isSpin(frames)) return 'spin';
  if (inKernel(leaf)) return kernelClass(frames);
  if (ALLOCATOR.test(leaf.symbol)) return 'allocator';
  if (frames.some((frame) => COMPILE.test(frame.symbol))) return 'compile';
  for (const frame of frames)
    for (const [name, pattern] of WORK) if (pattern.test(frame.symbol)) return name;
  // Native code that JavaScript called is not JavaScript, but the engine's own helpers and builtins are.
  if (/^(JS:|Builtins_|v8::)/.test(leaf.symbol) || isNodesOwn(frames)) return 'javascript';
  if (frames.some((frame) => /_PyEval_|PyObject_/.test(frame.symbol))) return 'interpreter';
  return leaf.symbol === '[unknown]' ? 'unresolved' : 'other';
}

/** Classes that keep a core busy without doing work. */
export const isWaiting = (name: StackClass): boolean => name === 'spin';
