import { Agent, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { HttpFake } from '../fakes/httpFake.ts';

const CHECK_INTERVAL_MS = 100;
const CHECK_TIMEOUT_MS = 5_000;

/**
 * A load balancer as HAProxy is usually configured: it sends requests in turn to the servers that pass a health check,
 * over pooled connections, and repeats a request only if no connection could be opened.
 */
export class HealthCheckedBalancer extends HttpFake {
  /** Addresses of the servers. May be changed at any time. */
  targets: string[] = [];
  readonly #checkPath: string;
  readonly #healthy = new Set<string>();
  readonly #pool = new Agent({ keepAlive: true });
  #next = 0;
  #isRunning = true;

  constructor(checkPath: string) {
    super();
    this.#checkPath = checkPath;
  }

  override async start(): Promise<this> {
    await super.start();
    void this.#check();
    return this;
  }

  isHealthy(target: string): boolean {
    return this.#healthy.has(target);
  }

  override async stop(): Promise<void> {
    this.#isRunning = false;
    this.#pool.destroy();
    await super.stop();
  }

  async #check(): Promise<void> {
    while (this.#isRunning) {
      await Promise.all(
        this.targets.map(async (target) => {
          const signal = AbortSignal.timeout(CHECK_TIMEOUT_MS);
          const isUp = await fetch(new URL(this.#checkPath, target), { signal }).then(
            async (response) => (await response.text()) !== '' && response.ok,
            () => false,
          );
          if (isUp) this.#healthy.add(target);
          else this.#healthy.delete(target);
        }),
      );
      await delay(CHECK_INTERVAL_MS);
    }
  }

  protected async handle(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const body = await buffer(incoming);
    const healthy = this.targets.filter((target) => this.#healthy.has(target));
    for (const [attempt] of healthy.entries()) {
      this.#next += attempt === 0 ? 1 : 0;
      const target = healthy[(this.#next + attempt) % healthy.length]!;
      const problem = await this.#forward(target, incoming, body, outgoing);
      if (problem === undefined) return;
      if (problem !== 'ECONNREFUSED') {
        outgoing.writeHead(502).end(`${target}: ${problem}`);
        return;
      }
    }
    outgoing.writeHead(503).end('no server is available');
  }

  /** Sends a request to a server. @returns the code of the error if there is no response. */
  #forward(target: string, incoming: IncomingMessage, body: Buffer, outgoing: ServerResponse) {
    const { method, headers, url = '/' } = incoming;
    return new Promise<string | undefined>((resolve) => {
      const passed = request(new URL(url, target), { method, headers, agent: this.#pool }, (answer) => {
        const { connection: _, 'keep-alive': __, ...own } = answer.headers;
        outgoing.writeHead(answer.statusCode ?? 502, own);
        answer.pipe(outgoing);
        answer.on('error', () => outgoing.destroy());
        resolve(undefined);
      });
      passed.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
      passed.end(body);
    });
  }
}
