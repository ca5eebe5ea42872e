import { setTimeout as delay } from 'node:timers/promises';
import { IMAGE, type TestCustomer } from './apiClient.ts';
import { buildToolCall, openMcpSession, postMcp } from './mcpClient.ts';
import type { TestService } from './testService.ts';

/** Pause of each client between its requests, so that the load leaves the machine some time. */
const PAUSE_MS = 40;
const PARALLEL_LIMIT = 10_000;

/** Clients that create and read generations and use MCP until they are stopped, without retries. */
export class FailoverLoad {
  readonly #service: TestService;
  readonly #customers: TestCustomer[];
  #isRunning = true;
  readonly #clients: Promise<void>[];
  /** Descriptions of creates and reads that failed. */
  readonly failures: string[] = [];
  /** Generations that were accepted. */
  readonly uuids: string[] = [];
  /** Times of MCP requests by outcome. */
  readonly mcp = { succeededAt: [] as number[], failedAt: [] as number[] };

  private constructor(service: TestService, customers: TestCustomer[]) {
    this.#service = service;
    this.#customers = customers;
    this.#clients = customers.flatMap((customer) => [
      this.#repeat(() => this.#createAndRead(customer)),
      this.#repeat(() => this.#useMcp(customer)),
    ]);
  }

  /** Starts clients of some customers, whose generations in progress are not limited. */
  static async start(service: TestService, customerCount = 4): Promise<FailoverLoad> {
    const customers = await Promise.all(Array.from({ length: customerCount }, () => service.createCustomer('studio')));
    await service.sql('UPDATE accounts SET parallel_limit = $1', [PARALLEL_LIMIT]);
    return new FailoverLoad(service, customers);
  }

  /** Time from the first failed MCP request to the first success after the last failed one; 0 without failures. */
  get mcpOutageMs(): number {
    const [first, last] = [this.mcp.failedAt[0], this.mcp.failedAt.at(-1)];
    if (first === undefined || last === undefined) return 0;
    return (this.mcp.succeededAt.find((at) => at > last) ?? Number.POSITIVE_INFINITY) - first;
  }

  /** Returns true if an MCP request succeeded some time after the last one that failed, and after another time. */
  hasMcpWorkedFor(durationMs: number, after: number): boolean {
    const since = Math.max(after, ...this.mcp.failedAt) + durationMs;
    return this.mcp.succeededAt.some((at) => at > since);
  }

  async stop(): Promise<void> {
    this.#isRunning = false;
    await Promise.all(this.#clients);
    await this.#service.sql('UPDATE accounts SET parallel_limit = 8');
  }

  /** Number of generations that are still queued. */
  async countQueued(): Promise<number> {
    const [row] = await this.#service.sql(`SELECT count(*)::int AS queued FROM generations WHERE status = 'queued'`);
    return row.queued;
  }

  async #repeat(work: () => Promise<void>): Promise<void> {
    while (this.#isRunning) {
      await work();
      await delay(PAUSE_MS * this.#customers.length);
    }
  }

  async #createAndRead(customer: TestCustomer): Promise<void> {
    try {
      const created = await customer.createGeneration(IMAGE);
      if (created.status !== 201) {
        this.failures.push(`create ${created.status} ${JSON.stringify(created.body)}`);
        return;
      }
      this.uuids.push(created.body.uuid);
      const read = await customer.readGeneration(created.body.uuid);
      if (read.status !== 200) this.failures.push(`read ${read.status} ${JSON.stringify(read.body)}`);
    } catch (error) {
      this.failures.push(String(error));
    }
  }

  async #useMcp(customer: TestCustomer): Promise<void> {
    const startedAt = performance.now();
    try {
      const headers = await openMcpSession(customer);
      const { status } = await postMcp(customer, buildToolCall('get_usage'), { headers });
      if (status !== 200) throw new Error(`get_usage ${status}`);
      this.mcp.succeededAt.push(performance.now());
    } catch {
      this.mcp.failedAt.push(startedAt);
    }
  }
}
