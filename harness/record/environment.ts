// The machine as a record needs it: enough to know which records may stand beside each other, and nothing that names a
// person or a host. What cannot be read is null, never guessed.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { availableParallelism, cpus, totalmem } from 'node:os';
import type { Environment } from './record.ts';

/** Instruction sets that kernels of language models use. */
const KERNEL_FLAGS = [
  'avx',
  'f16c',
  'fma',
  'avx2',
  'avx_vnni',
  'avx512f',
  'avx512bw',
  'avx512vl',
  'avx512_vnni',
  'avx512_bf16',
  'avx512vbmi',
  'amx_int8',
  'amx_bf16',
  'asimddp',
  'i8mm',
  'bf16',
  'sve',
];

/** Reads a small text file; undefined when it is not there. Tests give their own. */
export type ReadText = (path: string) => string | undefined;

export const readText: ReadText = (path) => {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
};

/** Captures the machine as it is now. */
export function captureEnvironment(read: ReadText = readText): Environment {
  const cpuinfo = read('/proc/cpuinfo') ?? '';
  const flags = new Set(/^(?:flags|Features)\s*:(.*)$/m.exec(cpuinfo)?.[1]?.trim().split(' '));
  const meminfo = read('/proc/meminfo') ?? '';
  const limits = cgroupLimits(read);
  const facts = {
    cpuModel: cpus()[0]?.model.trim() ?? 'unknown',
    cpuFlags: KERNEL_FLAGS.filter((flag) => flags.has(flag)),
    cores: availableParallelism(),
    machineCores: Math.max(1, cpus().length),
    cgroupCpuLimit: limits.cpus,
    cgroupMemoryLimitBytes: limits.memoryBytes,
    memoryBytes: totalmem(),
    swapBytes: Number(/^SwapTotal:\s*(\d+) kB/m.exec(meminfo)?.[1] ?? 0) * 1024,
    numaNodes: countNumaNodes(),
    kernel: (read('/proc/sys/kernel/osrelease') ?? 'unknown').trim(),
    osImage: /^PRETTY_NAME="?([^"\n]*)/m.exec(read('/etc/os-release') ?? '')?.[1] ?? 'unknown',
    virtualised: virtualisation(read, flags),
    governor: read('/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor')?.trim() ?? null,
    turbo: turbo(read),
    bootIdHash: sha256(read('/proc/sys/kernel/random/boot_id') ?? ''),
    transparentHugePages:
      /\[(\w+)\]/.exec(read('/sys/kernel/mm/transparent_hugepage/enabled') ?? '')?.[1] ?? null,
  };
  return { envClass: envClassOf(facts), ...facts };
}

/**
 * Names the class of machines whose numbers may be compared. Only what stays the same from run to run goes in: no clock
 * speed, no host name, no free memory, and of the kernel only its major and minor version.
 */
export function envClassOf(facts: Omit<Environment, 'envClass'>): string {
  const limit =
    facts.cgroupCpuLimit === null ? facts.cores : Math.min(facts.cores, facts.cgroupCpuLimit);
  const stable = [
    facts.cpuModel,
    facts.cpuFlags.join(','),
    limit,
    Math.round(Math.min(facts.memoryBytes, facts.cgroupMemoryLimitBytes ?? Infinity) / 2 ** 30),
    /^\d+\.\d+/.exec(facts.kernel)?.[0] ?? facts.kernel,
    facts.virtualised ?? 'bare',
  ];
  const name = facts.cpuModel
    .toLowerCase()
    .replaceAll(/\((?:r|tm)\)|cpu|processor|@.*$/g, '')
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
    .slice(0, 24)
    .replace(/-+$/, '');
  return `${name || 'cpu'}-${Math.ceil(limit)}x-${sha256(JSON.stringify(stable)).slice(0, 8)}`;
}

interface CgroupLimits {
  cpus: number | null;
  memoryBytes: number | null;
}

/** A limit above this is how cgroup v1 says "none". */
const NO_LIMIT_BYTES = 2 ** 60;

/** The tightest limits of this process's cgroup and its parents, in both versions of cgroups. */
export function cgroupLimits(read: ReadText): CgroupLimits {
  const lines = (read('/proc/self/cgroup') ?? '').trim().split('\n');
  let cpus = Number.POSITIVE_INFINITY;
  let memoryBytes = Number.POSITIVE_INFINITY;
  for (const line of lines) {
    const [, controllers = '', path = '/'] = /^\d+:([^:]*):(.*)$/.exec(line) ?? [];
    const names = controllers.split(',');
    for (const folder of withParents(path)) {
      if (controllers === '') {
        const [quota, period] = (read(`/sys/fs/cgroup${folder}/cpu.max`) ?? '').trim().split(' ');
        cpus = Math.min(cpus, ratio(quota, period));
        memoryBytes = Math.min(memoryBytes, whole(read(`/sys/fs/cgroup${folder}/memory.max`)));
      }
      if (names.includes('cpu')) {
        const base = `/sys/fs/cgroup/cpu${folder}/cpu.cfs`;
        cpus = Math.min(cpus, ratio(read(`${base}_quota_us`), read(`${base}_period_us`)));
      }
      if (names.includes('memory')) {
        const limit = whole(read(`/sys/fs/cgroup/memory${folder}/memory.limit_in_bytes`));
        if (limit < NO_LIMIT_BYTES) memoryBytes = Math.min(memoryBytes, limit);
      }
    }
  }
  return {
    cpus: Number.isFinite(cpus) ? cpus : null,
    memoryBytes: Number.isFinite(memoryBytes) ? memoryBytes : null,
  };
}

function withParents(path: string): string[] {
  const parts = path.split('/').filter((part) => part !== '');
  return Array.from({ length: parts.length + 1 }, (_, index) => {
    const taken = parts.slice(0, parts.length - index);
    return taken.length === 0 ? '' : `/${taken.join('/')}`;
  });
}

function whole(text: string | undefined): number {
  const value = Number((text ?? '').trim() || Number.NaN);
  return Number.isFinite(value) && value >= 0 ? value : Number.POSITIVE_INFINITY;
}

function ratio(quota: string | undefined, period: string | undefined): number {
  const value = whole(quota) / whole(period);
  return Number.isFinite(value) && value > 0 ? value : Number.POSITIVE_INFINITY;
}

function countNumaNodes(): number {
  try {
    const nodes = readdirSync('/sys/devices/system/node').filter((name) => /^node\d+$/.test(name));
    return Math.max(1, nodes.length);
  } catch {
    return 1;
  }
}

function virtualisation(read: ReadText, flags: ReadonlySet<string>): string | null {
  if (read('/.dockerenv') !== undefined) return 'container';
  const product = read('/sys/class/dmi/id/product_name')?.trim().toLowerCase() ?? '';
  for (const name of [
    'kvm',
    'vmware',
    'virtualbox',
    'hvm',
    'google compute engine',
    'virtual machine',
  ]) {
    if (product.includes(name)) return name;
  }
  return flags.has('hypervisor') ? 'vm' : null;
}

function turbo(read: ReadText): boolean | null {
  const noTurbo = read('/sys/devices/system/cpu/intel_pstate/no_turbo')?.trim();
  if (noTurbo !== undefined) return noTurbo === '0';
  const boost = read('/sys/devices/system/cpu/cpufreq/boost')?.trim();
  return boost === undefined ? null : boost === '1';
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
