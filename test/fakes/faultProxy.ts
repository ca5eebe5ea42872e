import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A proxy between the service and one of its servers, which can cut their connection. */
export class FaultProxy {
  private readonly target: URL;
  private readonly sockets = new Set<Socket>();
  private mode: 'open' | 'refusing' | 'frozen' = 'open';
  private isCut: (chunk: Buffer) => boolean = () => false;
  private readonly server = createServer((inside) => this.forward(inside));
  /** Address of the server through this proxy. */
  url = '';

  constructor(targetUrl: string) {
    this.target = new URL(targetUrl);
  }

  async start(): Promise<this> {
    this.server.listen(0, '127.0.0.1');
    await once(this.server, 'listening');
    const url = new URL(this.target.href);
    url.port = String((this.server.address() as AddressInfo).port);
    this.url = url.href;
    return this;
  }

  /** Closes all connections and rejects new ones. */
  refuse(): void {
    this.mode = 'refusing';
    for (const socket of this.sockets) socket.destroy();
  }

  /** Forwards nothing in either direction, without closing connections. */
  freeze(): void {
    this.mode = 'frozen';
    for (const socket of this.sockets) socket.pause();
  }

  /**
   * Forwards nothing over the open connections any more, and serves new ones: the address has moved to another server.
   */
  freezeOpenConnections(): void {
    this.mode = 'open';
    for (const socket of this.sockets) socket.pause();
  }

  /**
   * Cuts connections when the server responds: the request was executed, and its outcome is lost.
   * @param isCut called for each chunk of a response.
   */
  cutReplies(isCut: (chunk: Buffer) => boolean): void {
    this.isCut = isCut;
  }

  /** Forwards everything again. */
  open(): void {
    this.mode = 'open';
    this.isCut = () => false;
    for (const socket of this.sockets) socket.resume();
  }

  async stop(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    this.server.close();
    await once(this.server, 'close');
  }

  private forward(inside: Socket): void {
    if (this.mode === 'refusing') {
      inside.destroy();
      return;
    }
    const outside = connect(Number(this.target.port), this.target.hostname);
    for (const [from, to] of [
      [inside, outside],
      [outside, inside],
    ] as const) {
      this.sockets.add(from);
      from.on('data', (chunk) => {
        if (from === outside && this.isCut(chunk)) inside.destroy();
        else to.write(chunk);
      });
      from.on('end', () => to.end());
      from.on('error', () => to.destroy());
      from.on('close', () => {
        this.sockets.delete(from);
        to.destroy();
      });
      if (this.mode === 'frozen') from.pause();
    }
  }
}
