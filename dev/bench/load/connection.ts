import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

type OnResponse = (error: Error | null, status: number, body: Buffer) => void;

/**
 * One keep-alive HTTP/1.1 connection, made to cost as little as possible: one write, and a minimal parse of the
 * response.
 */
export interface HttpConnection {
  /** Sends a whole request; one at a time. */
  exchange(request: Buffer, answered: OnResponse): void;
  close(): void;
}

const EMPTY_BUFFER: Buffer = Buffer.alloc(0);
const HEAD_END = Buffer.from('\r\n\r\n');
const CONTENT_LENGTH = /\r\ncontent-length: *(\d+)/i;

/**
 * Node's server closes connections that were idle for 5 s. One that was idle for this long is reopened, so that it does
 * not close during a request.
 */
const STALE_MS = 3_000;

export async function openHttpConnection(port: number): Promise<HttpConnection> {
  let waiting: OnResponse | null = null;
  let received = EMPTY_BUFFER;
  let usedAt = performance.now();
  let socket = open();
  await once(socket, 'connect');

  function settle(error: Error | null, status: number, body: Buffer): void {
    const onResponse = waiting;
    waiting = null;
    received = EMPTY_BUFFER;
    usedAt = performance.now();
    onResponse?.(error, status, body);
  }

  function open(): Socket {
    const opened = connect({ port, host: '127.0.0.1', noDelay: true });
    opened.on('data', read);
    opened.on('error', (error) => opened === socket && settle(error, 0, EMPTY_BUFFER));
    opened.on(
      'close',
      () => opened === socket && settle(new Error('The server closed the connection.'), 0, EMPTY_BUFFER),
    );
    return opened;
  }

  function read(chunk: Buffer): void {
    received = received.length === 0 ? chunk : Buffer.concat([received, chunk]);
    const headEnd = received.indexOf(HEAD_END);
    if (headEnd < 0) return;
    const length = CONTENT_LENGTH.exec(received.toString('latin1', 0, headEnd))?.[1];
    if (length === undefined) {
      settle(new Error('A response has no Content-Length.'), 0, EMPTY_BUFFER);
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
    exchange: (request, onResponse) => {
      if (socket.destroyed || performance.now() - usedAt > STALE_MS) reopen();
      waiting = onResponse;
      socket.write(request);
    },
    close: () => socket.destroy(),
  };
}
