// Which process of this machine listens behind a URL: so that a server which was started by someone else can be watched
// like our own. It never guesses: undefined when the URL is elsewhere, or the process belongs to another user.
import { lookup } from 'node:dns/promises';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { networkInterfaces } from 'node:os';

const LISTENING = '0A';

/** The pid that listens on the URL's port of this machine. */
export async function listenerOf(url: string): Promise<number | undefined> {
  const { hostname, port, protocol } = new URL(url);
  if (!(await isThisMachine(hostname.replaceAll(/^\[|\]$/g, '')))) return undefined;
  const number = Number(port || (protocol === 'https:' ? 443 : 80));
  const inodes = new Set(
    ['/proc/net/tcp', '/proc/net/tcp6'].flatMap((path) =>
      listeningInodes(readOrEmpty(path), number),
    ),
  );
  return inodes.size === 0 ? undefined : ownerOf(inodes);
}

/** Inodes of the sockets that listen on the port, from the text of /proc/net/tcp. */
export function listeningInodes(table: string, port: number): string[] {
  const wanted = port.toString(16).toUpperCase().padStart(4, '0');
  return table
    .split('\n')
    .slice(1)
    .map((line) => line.trim().split(/\s+/))
    .filter((fields) => fields[3] === LISTENING && fields[1]?.endsWith(`:${wanted}`))
    .flatMap((fields) => fields[9] ?? []);
}

function ownerOf(inodes: ReadonlySet<string>): number | undefined {
  const owners = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => holdsOne(pid, inodes));
  // A server with worker processes shares its socket with them; the oldest is the parent.
  return owners.length === 0 ? undefined : Math.min(...owners);
}

function holdsOne(pid: number, inodes: ReadonlySet<string>): boolean {
  try {
    return readdirSync(`/proc/${pid}/fd`).some((fd) => {
      const inode = /^socket:\[(\d+)\]$/.exec(linkOf(`/proc/${pid}/fd/${fd}`))?.[1];
      return inode !== undefined && inodes.has(inode);
    });
  } catch {
    return false;
  }
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}

async function isThisMachine(host: string): Promise<boolean> {
  const ours = new Set(
    Object.values(networkInterfaces())
      .flatMap((all) => all ?? [])
      .map(({ address }) => address),
  );
  try {
    const found = await lookup(host, { all: true });
    return found.some(
      ({ address }) => address.startsWith('127.') || address === '::1' || ours.has(address),
    );
  } catch {
    return false;
  }
}

function readOrEmpty(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
}
