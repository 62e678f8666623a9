// Source lines of the hottest addresses: one addr2line run a binary, for few addresses, cached by build id. Asking perf
// for lines instead can take hours. An address without a line says so.
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';

const run = promisify(execFile);
const TIMEOUT_MS = 20_000;
const NO_LINE = 'no line table';

export interface SourceLine {
  /** "file:line" of the instruction, or "no line table". */
  line: string;
  /** The function that the line belongs to, and those it was inlined into, innermost first. */
  functions: string[];
}

export interface Segment {
  offset: number;
  address: number;
  size: number;
}

/** Loadable segments and build id from `readelf -lnW`. */
export function parseReadelf(text: string): { segments: Segment[]; buildId: string | undefined } {
  const segments: Segment[] = [];
  for (const match of text.matchAll(
    /^\s*LOAD\s+0x([0-9a-f]+)\s+0x([0-9a-f]+)\s+0x[0-9a-f]+\s+0x([0-9a-f]+)/gm,
  ))
    segments.push({
      offset: Number.parseInt(match[1] ?? '0', 16),
      address: Number.parseInt(match[2] ?? '0', 16),
      size: Number.parseInt(match[3] ?? '0', 16),
    });
  return { segments, buildId: /Build ID:\s+([0-9a-f]+)/.exec(text)?.[1] };
}

/** perf prints offsets in the file; addr2line wants addresses, which differ in some binaries. */
export function addressOf(segments: readonly Segment[], offset: number): number {
  const inside = segments.find((s) => offset >= s.offset && offset < s.offset + s.size);
  return inside ? inside.address + offset - inside.offset : offset;
}

/** Headers of compiler and libraries: a line in them says less than the line that they were inlined into. */
const SYSTEM = /^(\/usr\/|\.\/)/;

/**
 * Parses `addr2line -a -f -i -C`: an address line, then pairs of function and file:line, innermost first. The line is
 * the innermost that is not in a system header, or the innermost.
 */
export function parseAddr2line(text: string): Map<string, SourceLine> {
  const found = new Map<string, SourceLine>();
  let current: SourceLine | undefined;
  let name: string | undefined;
  for (const line of text.split('\n')) {
    const address = /^0x0*([0-9a-f]+)$/.exec(line)?.[1];
    if (address !== undefined) {
      current = { line: NO_LINE, functions: [] };
      found.set(address, current);
      name = undefined;
    } else if (!current || line === '') continue;
    else if (name === undefined) name = line;
    else {
      if (name !== '??') current.functions.push(name);
      const plain = line.replace(/ \(discriminator \d+\)$/, '');
      const better = current.line === NO_LINE || (SYSTEM.test(current.line) && !SYSTEM.test(plain));
      if (better && !/:(\?|0)$/.test(plain)) current.line = plain;
      name = undefined;
    }
  }
  return found;
}

const cacheSchema = z.record(
  z.string(),
  z.object({ line: z.string(), functions: z.array(z.string()) }),
);

function readCache(file: string): Record<string, SourceLine> {
  try {
    const parsed = cacheSchema.safeParse(JSON.parse(readFileSync(file, 'utf8')));
    return parsed.success ? parsed.data : {};
  } catch {
    return {};
  }
}

/** Build id of a binary, or undefined when it has none or cannot be read. */
export async function buildIdOf(dso: string): Promise<string | undefined> {
  try {
    return parseReadelf((await run('readelf', ['-nW', dso])).stdout).buildId;
  } catch {
    return undefined;
  }
}

/**
 * Lines of addresses (hexadecimal file offsets as perf prints them) in one binary. Those that cannot be found say
 * "no line table"; a binary that is gone gives an empty map.
 */
export async function sourceLines(
  dso: string,
  ips: readonly string[],
  cacheFolder: string,
): Promise<Map<string, SourceLine>> {
  const lines = new Map<string, SourceLine>();
  if (!dso.startsWith('/') || !existsSync(dso) || ips.length === 0) return lines;
  try {
    const elf = parseReadelf((await run('readelf', ['-lnW', dso], { maxBuffer: 2 ** 24 })).stdout);
    const file = join(cacheFolder, `${elf.buildId ?? 'none'}.json`);
    const cache = elf.buildId === undefined ? {} : readCache(file);
    const missing = [...new Set(ips)].filter((ip) => cache[ip] === undefined);
    if (missing.length > 0) {
      const addresses = missing.map((ip) =>
        addressOf(elf.segments, Number.parseInt(ip, 16)).toString(16),
      );
      const { stdout } = await run('addr2line', ['-a', '-f', '-i', '-C', '-e', dso, ...addresses], {
        timeout: TIMEOUT_MS,
        maxBuffer: 2 ** 24,
      });
      const parsed = parseAddr2line(stdout);
      missing.forEach((ip, i) => {
        cache[ip] = parsed.get(addresses[i] ?? '') ?? { line: NO_LINE, functions: [] };
      });
      if (elf.buildId !== undefined) {
        mkdirSync(cacheFolder, { recursive: true });
        writeFileSync(file, JSON.stringify(cache));
      }
    }
    for (const ip of ips) {
      const line = cache[ip];
      if (line) lines.set(ip, line);
    }
  } catch {
    // No readelf or addr2line, or one that takes too long on a huge binary: functions are still named by perf.
    for (const ip of ips) lines.set(ip, { line: NO_LINE, functions: [] });
  }
  return lines;
}
