// Which role a thread plays: by the server's own thread map, else by rules on its name, its command line and the
// functions seen on its stacks. Pure. Rules come from a preset or from the arm file; the first that matches wins.
import { z } from 'zod';

const pattern = z
  .string()
  .min(1)
  .refine(
    (text) => {
      try {
        return new RegExp(text, 'u') !== undefined;
      } catch {
        return false;
      }
    },
    { message: 'is not a regular expression; escape brackets and parentheses with a backslash' },
  );

const roleRuleSchema = z
  .strictObject({
    role: z.string().min(1).describe('such as engine-core, frontend, kernel, runtime'),
    name: pattern.optional().describe('name in the thread map or in /proc/PID/task/TID/comm'),
    commandLine: pattern.optional().describe("the process's command line or title"),
    frame: pattern.optional().describe('a function on at least a quarter of its stacks'),
    main: z.boolean().optional().describe('true: only the first thread of its process'),
  })
  .refine((rule) => Object.keys(rule).length > 1, {
    message: 'a rule needs at least one of name, commandLine, frame, main',
  });
export type RoleRule = z.infer<typeof roleRuleSchema>;

export const roleRulesSchema = z.union([
  z.enum(['mxbench', 'vllm', 'llama-server', 'sglang', 'node']),
  z.array(roleRuleSchema).min(1),
]);
export type RoleRules = z.infer<typeof roleRulesSchema>;

/** The role of a thread that no rule knows; a gate limits how much CPU it may hold. */
export const UNMAPPED = 'unmapped';

// The runtime's own threads on any Node version: named since 22, else told by their oldest frames.
const NODE_RUNTIME: RoleRule[] = [
  { role: 'runtime', name: '^(node-)?(V8Worker|DelayedTaskSche|SignalInspector)' },
  { role: 'runtime', frame: 'PlatformWorkerThread|DelayedTaskScheduler|StartIoThread|^worker$' },
];

export const ROLE_PRESETS: Record<Exclude<RoleRules, RoleRule[]>, RoleRule[]> = {
  mxbench: [
    { role: 'engine-core', name: '^engine-core' },
    { role: 'kernel', name: '^kernel-\\d+' },
    { role: 'frontend', name: '^frontend' },
    ...NODE_RUNTIME,
    { role: 'frontend', main: true },
    { role: 'runtime', name: '^(node|MainThread|libuv-worker)' },
  ],
  // Python shows thread names to the kernel only from 3.14, so processes are told by their titles.
  vllm: [
    { role: 'runtime', name: '^(ZMQbg|gloo|pt_gloo|python)' },
    { role: 'kernel', frame: '__kmp_|gomp|libi?omp', commandLine: 'VLLM', main: false },
    { role: 'worker', commandLine: 'VLLM::(Worker|.*_TP\\d)', main: true },
    { role: 'kernel', commandLine: 'VLLM::(Worker|.*_TP\\d)' },
    { role: 'engine-core', commandLine: 'VLLM::EngineCor', main: true },
    { role: 'detokeniser', commandLine: 'VLLM::Detok' },
    { role: 'frontend', commandLine: 'VLLM::APIServer|vllm serve', main: true },
    { role: 'runtime', commandLine: 'vllm|VLLM|multiprocessing|python' },
  ],
  // The first thread runs the slot loop and its share of the graph; HTTP threads come from a pool.
  'llama-server': [
    { role: 'engine-core', main: true },
    {
      role: 'kernel',
      frame: 'ggml_(graph_compute|compute_forward|barrier|vec_|gemm|gemv)|gomp|tinyBLAS|^gemm_',
    },
    { role: 'frontend', frame: 'httplib|ThreadPool|nlohmann|server_(res|task|routes)|oaicompat' },
    { role: 'runtime', name: 'llama|log|signal' },
  ],
  sglang: [
    { role: 'engine-core', commandLine: 'sglang::schedul', main: true },
    { role: 'detokeniser', commandLine: 'sglang::detok', main: true },
    { role: 'kernel', commandLine: 'sglang::schedul' },
    { role: 'frontend', commandLine: 'sglang', main: true },
    { role: 'runtime', commandLine: 'sglang' },
  ],
  node: [
    ...NODE_RUNTIME,
    { role: 'worker', frame: 'node::worker::Worker::StartThread' },
    { role: 'frontend', main: true },
    { role: 'runtime', name: '^(node|MainThread|libuv-worker)' },
  ],
};

/** What is known of one thread before its role is decided. */
export interface ThreadIdentity {
  pid: number;
  tid: number;
  comm: string;
  commandLine: string;
}

/** How often each function was on the thread's stacks, each counted once a sample. */
export interface StackEvidence {
  samples: number;
  functions: ReadonlyMap<string, number>;
}

/** What the server itself says: tid to role, which is believed before any rule. */
export type DeclaredRoles = ReadonlyMap<number, { role: string; name: string }>;

const FRAME_SHARE = 0.25;

function frameMatches(expression: RegExp, evidence: StackEvidence | undefined): boolean {
  if (!evidence || evidence.samples === 0) return false;
  for (const [name, count] of evidence.functions)
    if (count / evidence.samples >= FRAME_SHARE && expression.test(name)) return true;
  return false;
}

interface Compiled {
  role: string;
  main: boolean | undefined;
  name: RegExp | undefined;
  commandLine: RegExp | undefined;
  frame: RegExp | undefined;
}

function compile(rule: RoleRule): Compiled {
  const regex = (text: string | undefined) =>
    text === undefined ? undefined : new RegExp(text, 'u');
  return {
    role: rule.role,
    main: rule.main,
    name: regex(rule.name),
    commandLine: regex(rule.commandLine),
    frame: regex(rule.frame),
  };
}

/** The rules behind a preset's name, or the rules themselves. */
export function resolveRules(rules: RoleRules): RoleRule[] {
  return typeof rules === 'string' ? ROLE_PRESETS[rules] : rules;
}

/** Gives every thread one role; `unmapped` where neither the server nor a rule knows it. */
export function assignRoles(
  threads: readonly ThreadIdentity[],
  rules: readonly RoleRule[],
  declared: DeclaredRoles = new Map(),
  evidence: ReadonlyMap<number, StackEvidence> = new Map(),
): Map<number, string> {
  const compiled = rules.map(compile);
  const roles = new Map<number, string>();
  for (const thread of threads) {
    const said = declared.get(thread.tid);
    const matches = (rule: Compiled) =>
      (rule.main === undefined || rule.main === (thread.pid === thread.tid)) &&
      (!rule.name || rule.name.test(said?.name ?? thread.comm)) &&
      (!rule.commandLine || rule.commandLine.test(thread.commandLine)) &&
      (!rule.frame || frameMatches(rule.frame, evidence.get(thread.tid)));
    roles.set(thread.tid, said?.role ?? compiled.find(matches)?.role ?? UNMAPPED);
  }
  return roles;
}
