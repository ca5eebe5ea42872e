import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

type Answered = (error: Error | null, status: number, body: Buffer) => void;

/** One keep-alive HTTP/1.1 connection, made to cost as little as a client can: a write and a look at the answer. */
export interface Connection {
  /** Sends a whole request; one at a time. */
  exchange(request: Buffer, answered: Answered): void;
  close(): void;
}

const NOTHING: Buffer = Buffer.alloc(0);
const HEAD_END = Buffer.from('\r\n\r\n');
const LENGTH = /\r\ncontent-length: *(\d+)/i;

/** Node's server closes what was idle for 5 s: what was idle for this long is opened anew, lest it close just then. */
const STALE_MS = 3_000;

export async function openConnection(port: number): Promise<Connection> {
  let waiting: Answered | null = null;
  let received = NOTHING;
  let usedAt = performance.now();
  let socket = open();
  await once(socket, 'connect');

  function settle(error: Error | null, status: number, body: Buffer): void {
    const answered = waiting;
    waiting = null;
    received = NOTHING;
    usedAt = performance.now();
    answered?.(error, status, body);
  }

  function open(): Socket {
    const opened = connect({ port, host: '127.0.0.1', noDelay: true });
    opened.on('data', read);
    opened.on('error', (error) => opened === socket && settle(error, 0, NOTHING));
    opened.on('close', () => opened === socket && settle(new Error('The server closed the connection.'), 0, NOTHING));
    return opened;
  }

  function read(chunk: Buffer): void {
    received = received.length === 0 ? chunk : Buffer.concat([received, chunk]);
    const headEnd = received.indexOf(HEAD_END);
    if (headEnd < 0) return;
    const length = LENGTH.exec(received.toString('latin1', 0, headEnd))?.[1];
    if (length === undefined) {
      settle(new Error('An answer came without its length.'), 0, NOTHING);
      return;
    }
    const bodyStart = headEnd + HEAD_END.length;
    if (received.length < bodyStart + Number(length)) return;
    settle(null, Number(received.toString('latin1', 9, 12)), received.subarray(bodyStart));
  }

  function reopen(): void {
    const stale = socket;
    socket = open();
    stale.destroy();
  }

  return {
    exchange: (request, answered) => {
      if (socket.destroyed || performance.now() - usedAt > STALE_MS) reopen();
      waiting = answered;
      socket.write(request);
    },
    close: () => socket.destroy(),
  };
}
