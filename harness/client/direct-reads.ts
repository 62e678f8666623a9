// Reads of a TCP socket without the machinery of Node's streams: the callback of each read stamps it and hands the bytes
// on in the same turn. It spares every token a 64 KiB allocation, a tick and a pass through the stream's queue, and the
// stamp is taken at the earliest point that JavaScript can see. Sockets of TLS keep the ordinary way.
import type { OnReadOpts, Socket } from 'node:net';

const PENDING = Symbol('pending');
interface DirectSocket extends Socket {
  [PENDING]?: Buffer | null;
}

/** Shared by all sockets of the thread: a read is copied out before the next one can begin. */
const readBuffer = Buffer.allocUnsafeSlow(64 * 1024);

/** The `onread` option of net.connect; `stamp` is called once a read, before anything else. */
export function directReads(stamp: () => void): OnReadOpts {
  return {
    buffer: readBuffer,
    callback(this: DirectSocket, bytes: number) {
      stamp();
      const chunk = Buffer.from(readBuffer.subarray(0, bytes));
      const earlier = this[PENDING];
      this[PENDING] = earlier ? Buffer.concat([earlier, chunk]) : chunk;
      this.emit('readable');
      return true;
    },
  };
}

/** Makes read() of a socket that was opened with directReads give what its callback received. */
export function serveDirectReads(socket: DirectSocket): void {
  const read = socket.read;
  socket.read = function (this: DirectSocket, size?: number) {
    const pending = this[PENDING];
    // The end of the stream, and everything that asks for a size, remain the stream's own business.
    if (size !== undefined || !pending) return read.call(this, size);
    this[PENDING] = null;
    return pending;
  };
}
