import { type IncomingMessage, request, type ServerResponse } from 'node:http';
import { HttpFake } from '../fakes/httpFake.ts';

/** A proxy in front of several API processes that distributes requests in turn, as a platform's router does. */
export class RoundRobinProxy extends HttpFake {
  private readonly targets: () => string[];
  private next = 0;
  /** The process of each request, in order, as an index into the targets. */
  readonly served: number[] = [];

  constructor(targets: () => string[]) {
    super();
    this.targets = targets;
  }

  protected handle(incoming: IncomingMessage, outgoing: ServerResponse): void {
    const targets = this.targets();
    const index = this.next % targets.length;
    this.next += 1;
    this.served.push(index);
    const { method, headers, url = '/' } = incoming;
    const passed = request(new URL(url, targets[index]), { method, headers, agent: false }, (response) => {
      // The headers of one connection: with the 95 s of the API, clients would reuse connections that this server has
      // closed.
      const { connection: _connection, 'keep-alive': _keepAlive, ...endToEnd } = response.headers;
      outgoing.writeHead(response.statusCode ?? 502, endToEnd);
      outgoing.flushHeaders();
      response.pipe(outgoing);
      response.on('error', () => outgoing.destroy());
    });
    passed.on('error', () => outgoing.destroy());
    outgoing.on('close', () => passed.destroy());
    incoming.pipe(passed);
  }
}
