import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';

/** A forward proxy that opens tunnels (CONNECT). It resolves every name to one port of this machine. */
export class ConnectProxy {
  /** Status with which tunnels are refused. Undefined: they are opened. */
  refusal: number | undefined;
  /** Target and `Proxy-Authorization` header of each request for a tunnel. */
  readonly requests: [target: string, authorization: string | undefined][] = [];
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(targetPort: number) {
    this.#server = createServer((_request, response) => response.writeHead(405).end());
    this.#server.on('connection', (socket) => this.#track(socket));
    this.#server.on('connect', (request, client: Socket) => {
      this.requests.push([request.url ?? '', request.headers['proxy-authorization']]);
      if (this.refusal !== undefined) return void client.end(`HTTP/1.1 ${this.refusal} Refused\r\n\r\n`);
      const target = connect(targetPort, '127.0.0.1', () => {
        client.write('HTTP/1.1 200 Connection established\r\n\r\n');
        target.pipe(client).pipe(target);
      });
      this.#track(target);
    });
  }

  static async start(targetPort: number): Promise<ConnectProxy> {
    const proxy = new ConnectProxy(targetPort);
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  get host(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  stop(): void {
    this.closeTunnels();
    this.#server.close();
  }

  /** Closes all connections, so that the next request needs a new tunnel. */
  closeTunnels(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  #track(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('error', () => {}).once('close', () => this.#sockets.delete(socket));
  }
}
