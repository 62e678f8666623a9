// What this machine can do and what is missing on it, as data. It looks and changes nothing.
import { execFileSync } from 'node:child_process';
import { accessSync, constants, existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { captureEnvironment, readText } from '../record/environment.ts';
import type { Environment } from '../record/record.ts';

export interface Check {
  name: string;
  /** 'ok', 'missing': something cannot be done, 'notice': it can, but the numbers may suffer. */
  state: 'ok' | 'missing' | 'notice';
  found: string;
  /** What to do, where there is something to do. */
  advice?: string;
}

const ADDON = fileURLToPath(new URL('../../../native/build/mxbench.node', import.meta.url));
const LEAST_NODE = [20, 19] as const;
const LEAST_MEMORY_BYTES = 4 * 2 ** 30;

/** Everything but noise, which needs time to be measured. */
export function inspectMachine(): Check[] {
  const environment = captureEnvironment();
  return [
    node(),
    instructionSet(environment),
    cores(environment),
    memory(environment),
    clocks(environment),
    tool('C++ compiler', ['c++', '--version'], 'apt-get install g++'),
    tool('CMake', ['cmake', '--version'], 'apt-get install cmake'),
    addon(),
    tool('git', ['git', '--version'], 'apt-get install git'),
    tool('perf', ['perf', '--version'], 'apt-get install linux-perf'),
    perfRights(),
    traceRights(),
  ];
}

function node(): Check {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const good = major > LEAST_NODE[0] || (major === LEAST_NODE[0] && minor >= LEAST_NODE[1]);
  const check: Check = { name: 'Node', state: good ? 'ok' : 'missing', found: process.version };
  return good ? check : { ...check, advice: 'Install Node 20.19 or newer from https://nodejs.org' };
}

/** What the bundled server takes, judged by the flags of the CPU. */
export function instructionSetOf(flags: readonly string[]): string {
  const has = (...wanted: string[]) => wanted.every((flag) => flags.includes(flag));
  if (has('avx512f', 'avx512bw', 'avx512vl', 'avx512_vnni', 'avx512vbmi')) {
    return has('avx512_bf16') ? 'avx512 with VNNI and BF16' : 'avx512 with VNNI';
  }
  return has('avx2', 'fma', 'f16c') ? 'avx2' : 'portable';
}

function instructionSet({ cpuFlags, cpuModel }: Environment): Check {
  const best = instructionSetOf(cpuFlags);
  const check: Check = { name: 'instruction set', state: 'ok', found: `${best} (${cpuModel})` };
  if (best !== 'portable') return check;
  return {
    ...check,
    state: 'notice',
    advice: 'The bundled server runs its plain kernels, which are slow.',
  };
}

function cores({ cores: usable, machineCores, cgroupCpuLimit, numaNodes }: Environment): Check {
  const limit = cgroupCpuLimit === null ? '' : `, limited to ${cgroupCpuLimit} by cgroup`;
  const nodes = numaNodes > 1 ? `, ${numaNodes} NUMA nodes` : '';
  const found = `${usable} of ${machineCores}${limit}${nodes}`;
  if (Math.min(usable, cgroupCpuLimit ?? usable) >= 2) return { name: 'cores', state: 'ok', found };
  const advice = 'Client and server share one core, so each is in the numbers of the other.';
  return { name: 'cores', state: 'notice', found, advice };
}

function memory({ memoryBytes, cgroupMemoryLimitBytes, swapBytes }: Environment): Check {
  const usable = Math.min(memoryBytes, cgroupMemoryLimitBytes ?? memoryBytes);
  const gibibytes = (bytes: number) => `${(bytes / 2 ** 30).toFixed(1)} GiB`;
  const limit =
    usable < memoryBytes ? ` (cgroup limit; the machine has ${gibibytes(memoryBytes)})` : '';
  const swap = swapBytes > 0 ? `, ${gibibytes(swapBytes)} swap` : '';
  const check: Check = {
    name: 'memory',
    state: 'ok',
    found: `${gibibytes(usable)}${limit}${swap}`,
  };
  if (usable >= LEAST_MEMORY_BYTES) return check;
  return { ...check, state: 'notice', advice: 'Choose a small model; see: bench model list' };
}

function clocks({ governor, turbo, virtualised }: Environment): Check {
  const parts = [
    governor === null ? 'governor not visible' : `governor ${governor}`,
    turbo === null ? undefined : `turbo ${turbo ? 'on' : 'off'}`,
    virtualised === null ? undefined : `virtualised (${virtualised})`,
  ];
  const found = parts.filter((part) => part !== undefined).join(', ');
  if (governor === null || governor === 'performance')
    return { name: 'clocks', state: 'ok', found };
  const advice = 'For steady clocks: cpupower frequency-set -g performance';
  return { name: 'clocks', state: 'notice', found, advice };
}

function addon(): Check {
  const name = 'native addon';
  if (existsSync(ADDON)) return { name, state: 'ok', found: 'built' };
  return { name, state: 'missing', found: 'not built', advice: 'Build it with: npm run build' };
}

function tool(name: string, [program = '', ...args]: string[], install: string): Check {
  try {
    const said = execFileSync(program, args, {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    return { name, state: 'ok', found: said.split('\n')[0]?.trim() ?? program };
  } catch {
    return { name, state: 'missing', found: `${program} is not there`, advice: install };
  }
}

const CAP_PERFMON = 38n;
const CAP_SYS_ADMIN = 21n;

/** Whether the capability bits in /proc/self/status allow profiling of other processes. */
export function mayProfile(status: string, paranoid: number): boolean {
  const bits = BigInt(`0x${/^CapEff:\s*([0-9a-f]+)/m.exec(status)?.[1] ?? '0'}`);
  const has = (capability: bigint) => ((bits >> capability) & 1n) === 1n;
  return paranoid <= 1 || has(CAP_PERFMON) || has(CAP_SYS_ADMIN);
}

function perfRights(): Check {
  const name = 'perf rights';
  const paranoid = Number(readText('/proc/sys/kernel/perf_event_paranoid') ?? Number.NaN);
  const found = `perf_event_paranoid ${Number.isNaN(paranoid) ? 'not visible' : paranoid}`;
  if (mayProfile(readFileSync('/proc/self/status', 'utf8'), paranoid))
    return { name, state: 'ok', found };
  return {
    name,
    state: 'missing',
    found,
    advice: 'sysctl kernel.perf_event_paranoid=1, or run as root',
  };
}

function traceRights(): Check {
  const name = 'scheduler events';
  try {
    accessSync('/sys/kernel/tracing/events/sched/sched_switch/id', constants.R_OK);
    return { name, state: 'ok', found: 'tracefs is readable' };
  } catch {
    const advice = 'mount -t tracefs nodev /sys/kernel/tracing, and run as root';
    return { name, state: 'missing', found: 'tracefs is not readable', advice };
  }
}
