import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import type { Redis } from 'ioredis';

const ROLE_CHECK_INTERVAL_MS = 100;

/**
 * One address in front of a master and its replicas, as a TCP balancer that checks the role provides: new connections
 * go to the current master, and existing ones stay where they are.
 */
export class MasterProxy {
  readonly #servers: readonly { port: number; client: Redis }[];
  readonly #sockets = new Map<Socket, number>();
  readonly #server = createServer((inside) => this.#forward(inside));
  #masterPort: number;
  #timer: NodeJS.Timeout | undefined;

  constructor(servers: readonly { port: number; client: Redis }[]) {
    this.#servers = servers;
    this.#masterPort = servers[0]!.port;
  }

  async start(): Promise<string> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    this.#timer = setInterval(() => void this.#findMaster(), ROLE_CHECK_INTERVAL_MS);
    return `redis://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Number of connections that lead to a server. */
  countConnections(port: number): number {
    return [...this.#sockets.values()].filter((target) => target === port).length;
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    for (const socket of this.#sockets.keys()) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }

  async #findMaster(): Promise<void> {
    for (const { port, client } of this.#servers) {
      const [role] = await client.role().catch(() => []);
      if (role === 'master') this.#masterPort = port;
    }
  }

  #forward(inside: Socket): void {
    const port = this.#masterPort;
    const outside = connect(port, '127.0.0.1');
    this.#sockets.set(inside, port);
    for (const [from, to] of [
      [inside, outside],
      [outside, inside],
    ] as const) {
      from.pipe(to);
      from.on('error', () => to.destroy());
      from.on('close', () => {
        this.#sockets.delete(from);
        to.destroy();
      });
    }
  }
}
