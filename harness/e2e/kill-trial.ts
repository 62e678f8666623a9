// Kills bench, or the server that it started, at random moments of a sweep, and says what was left. For tests.
import { readdirSync } from 'node:fs';
import { listPaths, readRecord } from '../record/store.ts';
import { seededRandom } from '../stats/random.ts';
import { shortSweep, TINY_MODEL, type Workplace } from './bench-process.ts';

export interface KillReport {
  kills: number;
  /** How often the victim was the server. */
  serverKills: number;
  survivors: number[];
  /** Records that do not read; a half record must not even be listed. */
  broken: string[];
  /** A sweep after all of it: whether it could run, and what lay about after it. */
  lastExit: number | null;
  lastWords: string;
  leftovers: string[];
}

/** From the start of bench to about the end of its sweep. */
const LONGEST_WAIT_MS = 2500;

/** The same seed kills at the same moments after each start. */
export async function killAtRandom(
  place: Workplace,
  kills: number,
  seed: number,
): Promise<KillReport> {
  const random = seededRandom(seed, 'kill');
  const sweep = shortSweep('--model', TINY_MODEL, '--concurrency', '1,2');
  let serverKills = 0;
  const survivors: number[] = [];
  for (let round = 0; round < kills; round += 1) {
    const bench = place.start(...sweep);
    await new Promise((resolve) => setTimeout(resolve, random.unit() * LONGEST_WAIT_MS));
    const [server] = place.survivorsLike('server/main.js');
    if (server !== undefined && random.unit() < 0.3) {
      serverKills += 1;
      killed(server);
    } else {
      bench.child.kill('SIGKILL');
    }
    await bench.finished;
    survivors.push(...(await place.survivorsAtLast()));
  }
  const last = await place.bench(...sweep);
  return {
    kills,
    serverKills,
    survivors,
    broken: listPaths(place.records).filter((path) => !reads(path)),
    lastExit: last.code,
    lastWords: last.stderr,
    leftovers: readdirSync(place.folder, { recursive: true })
      .map(String)
      .filter((name) => name.includes('.partial')),
  };
}

function killed(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It ended by itself in the meantime.
  }
}

function reads(path: string): boolean {
  try {
    readRecord(path);
    return true;
  } catch {
    return false;
  }
}
