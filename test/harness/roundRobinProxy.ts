import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A proxy in front of several API processes that distributes requests in turn, as a platform's router does. */
export class RoundRobinProxy {
  private readonly targets: () => string[];
  private next = 0;
  /** The process of each request, in order, as an index into the targets. */
  readonly served: number[] = [];
  private readonly server = createServer((incoming, outgoing) => this.forward(incoming, outgoing));
  url = '';

  constructor(targets: () => string[]) {
    this.targets = targets;
  }

  async start(): Promise<this> {
    this.server.listen(0, '127.0.0.1');
    await once(this.server, 'listening');
    this.url = `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
    return this;
  }

  async stop(): Promise<void> {
    this.server.close();
    this.server.closeAllConnections();
    await once(this.server, 'close');
  }

  private forward(incoming: IncomingMessage, outgoing: ServerResponse): void {
    const targets = this.targets();
    const index = this.next % targets.length;
    this.next += 1;
    this.served.push(index);
    const { method, headers, url = '/' } = incoming;
    const passed = request(new URL(url, targets[index]), { method, headers, agent: false }, (response) => {
      outgoing.writeHead(response.statusCode ?? 502, response.headers);
      outgoing.flushHeaders();
      response.pipe(outgoing);
      response.on('error', () => outgoing.destroy());
    });
    passed.on('error', () => outgoing.destroy());
    outgoing.on('close', () => passed.destroy());
    incoming.pipe(passed);
  }
}
