import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A fake of an external system that is reached over HTTP: a server on a loopback port. */
export abstract class HttpFake {
  url = '';
  #port = 0;
  /** The first exception of the fake itself, which is a bug in a test and not a fault that it injects. */
  #exception: Error | undefined;
  readonly #server = createServer((request, response) => {
    Promise.resolve(this.handle(request, response)).catch((error: Error) => {
      // A client that disconnects before its request is complete is one of the faults under test.
      if (request.complete) this.#exception ??= error;
      response.destroy();
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

  /** Closes all connections and refuses new ones from now on. @throws the first exception of the fake, if any. */
  async stop(): Promise<void> {
    if (this.#server.listening) {
      this.#server.close();
      this.#server.closeAllConnections();
      await once(this.#server, 'close');
    }
    const exception = this.#exception;
    this.#exception = undefined;
    if (exception !== undefined) throw exception;
  }

  protected abstract handle(request: IncomingMessage, response: ServerResponse): unknown;
}
