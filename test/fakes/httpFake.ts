import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A fake of an external system that is reached over HTTP: a server on a loopback port. */
export abstract class HttpFake {
  url = '';
  #port = 0;
  readonly #server = createServer((request, response) => {
    Promise.resolve(this.handle(request, response)).catch((error: Error) => {
      if (!response.headersSent) response.writeHead(500);
      response.end(String(error.stack));
    });
  });

  /** Accepts connections, on the same port as before if it was stopped. */
  async start(): Promise<this> {
    this.#server.listen(this.#port, '127.0.0.1');
    await once(this.#server, 'listening');
    this.#port = (this.#server.address() as AddressInfo).port;
    this.url = `http://127.0.0.1:${this.#port}`;
    return this;
  }

  /** Closes all connections and refuses new ones from now on. */
  async stop(): Promise<void> {
    if (!this.#server.listening) return;
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, 'close');
  }

  protected abstract handle(request: IncomingMessage, response: ServerResponse): unknown;
}
