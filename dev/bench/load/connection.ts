import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

type OnResponse = (error: Error | null, status: number, body: Buffer) => void;

const EMPTY_BUFFER: Buffer = Buffer.alloc(0);
const HEAD_END = Buffer.from('\r\n\r\n');
const CONTENT_LENGTH = /\r\ncontent-length: *(\d+)/i;

/**
 * Node's server closes connections that were idle for 5 s. One that was idle for this long is reopened, so that it does
 * not close during a request.
 */
const STALE_MS = 3_000;

/**
 * One keep-alive HTTP/1.1 connection, made to cost as little as possible: one write, and a minimal parse of the
 * response.
 */
export class HttpConnection {
  readonly #port: number;
  #socket: Socket;
  #waiting: OnResponse | null = null;
  #received = EMPTY_BUFFER;
  #usedAt = performance.now();

  private constructor(port: number) {
    this.#port = port;
    this.#socket = this.#open();
  }

  static async open(port: number): Promise<HttpConnection> {
    const connection = new HttpConnection(port);
    await once(connection.#socket, 'connect');
    return connection;
  }

  /** Sends a whole request; one at a time. */
  exchange(request: Buffer, onResponse: OnResponse): void {
    if (this.#socket.destroyed || performance.now() - this.#usedAt > STALE_MS) {
      const stale = this.#socket;
      this.#socket = this.#open();
      stale.destroy();
    }
    this.#waiting = onResponse;
    this.#socket.write(request);
  }

  #open(): Socket {
    const opened = connect({ port: this.#port, host: '127.0.0.1', noDelay: true });
    const fail = (error: Error) => opened === this.#socket && this.#settle(error, 0, EMPTY_BUFFER);
    opened.on('data', (chunk) => this.#read(chunk));
    opened.on('error', fail);
    opened.on('close', () => fail(new Error('The server closed the connection.')));
    return opened;
  }

  #read(chunk: Buffer): void {
    this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk]);
    const headEnd = this.#received.indexOf(HEAD_END);
    if (headEnd < 0) return;
    const length = CONTENT_LENGTH.exec(this.#received.toString('latin1', 0, headEnd))?.[1];
    if (length === undefined) return this.#settle(new Error('A response has no Content-Length.'), 0, EMPTY_BUFFER);
    const bodyStart = headEnd + HEAD_END.length;
    if (this.#received.length < bodyStart + Number(length)) return;
    this.#settle(null, Number(this.#received.toString('latin1', 9, 12)), this.#received.subarray(bodyStart));
  }

  #settle(error: Error | null, status: number, body: Buffer): void {
    const onResponse = this.#waiting;
    this.#waiting = null;
    this.#received = EMPTY_BUFFER;
    this.#usedAt = performance.now();
    onResponse?.(error, status, body);
  }
}
