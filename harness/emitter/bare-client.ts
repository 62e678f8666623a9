// The floor of what a client on this runtime costs: sockets that are woken for every token and throw the bytes away.
// Measured in the same run, it tells how much of the harness's CPU per token is its own.
import { connect } from 'node:net';

const LAST = Buffer.from('0\r\n\r\n');
/** A socket that is silent for so long will not end; the measurement is given up. */
const SILENCE_MS = 30_000;

/** Sends the requests over `concurrency` sockets, each to its end; returns the CPU time of this process, ns. */
export async function bareClientCpuNs(
  baseUrl: string,
  body: Buffer,
  concurrency: number,
  requests: number,
): Promise<number> {
  const { hostname, port } = new URL(baseUrl);
  const head =
    `POST /v1/completions HTTP/1.1\r\nhost: ${hostname}:${port}\r\n` +
    `content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`;
  const request = Buffer.concat([Buffer.from(head), body]);
  const before = process.cpuUsage();
  let left = requests;
  const slot = () =>
    new Promise<void>((resolve, reject) => {
      const socket = connect({ host: hostname, port: Number(port), noDelay: true });
      const next = () => {
        left -= 1;
        if (left >= 0) socket.write(request);
        else socket.destroy();
      };
      socket.on('connect', next);
      socket.setTimeout(SILENCE_MS, () => socket.destroy(new Error('The emitter fell silent.')));
      socket.on('data', (bytes: Buffer) => {
        if (bytes.length >= LAST.length && bytes.subarray(-LAST.length).equals(LAST)) next();
      });
      socket.on('error', reject);
      socket.on('close', () => resolve());
    });
  await Promise.all(Array.from({ length: concurrency }, slot));
  const { user, system } = process.cpuUsage(before);
  return (user + system) * 1000;
}
