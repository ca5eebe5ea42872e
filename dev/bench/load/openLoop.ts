import type { HttpConnection } from './connection.ts';

/** Requests at a constant rate, whatever the time of earlier ones. */
export interface OpenLoopResult {
  sent: number;
  /** Most requests in progress at a time. */
  mostInFlight: number;
  /** Time from when each request was to be sent until its response, so that a delayed sender hides nothing. */
  latenciesMs: number[];
}

/**
 * Requests in progress at a time, as a balancer limits them (docs/load-balancing.md). Others wait for a free connection,
 * and their time counts.
 */
const MAX_CONNECTIONS = 128;

/**
 * Sends requests at the times that a rate demands. Each takes a connection that is free, or a new one: as long
 * as there are fewer than the limit, a request that takes long delays no other.
 * @throws the first error of a request.
 */
export async function runOpenLoop(
  perSecond: number,
  durationMs: number,
  connections: HttpConnection[],
  open: () => Promise<HttpConnection>,
  send: (connection: HttpConnection, done: (error: Error | null) => void) => void,
): Promise<OpenLoopResult> {
  const total = Math.round((perSecond * durationMs) / 1_000);
  const startedAt = performance.now();
  const getDueAt = (index: number) => startedAt + (1_000 * index) / perSecond;
  const free = [...connections];
  const waiting: number[] = [];
  const latenciesMs: number[] = [];
  let opening = 0;
  let failure: Error | null = null;
  let inFlight = 0;
  let mostInFlight = 0;
  let finish: (() => void) | undefined;

  function fail(error: unknown): void {
    failure ??= error as Error;
    finish?.();
  }

  /** Sends the requests that wait, and opens connections for those that remain. */
  function sendWaiting(): void {
    while (waiting.length > 0 && free.length > 0) exchange(free.pop() as HttpConnection, waiting.shift() as number);
    while (waiting.length > opening && connections.length + opening < MAX_CONNECTIONS) {
      opening += 1;
      void openOne().catch(fail);
    }
  }

  async function openOne(): Promise<void> {
    const connection = await open();
    opening -= 1;
    connections.push(connection);
    free.push(connection);
    sendWaiting();
  }

  function exchange(connection: HttpConnection, dueAt: number): void {
    inFlight += 1;
    mostInFlight = Math.max(mostInFlight, inFlight);
    send(connection, (error) => {
      inFlight -= 1;
      if (error !== null) return fail(error);
      latenciesMs.push(performance.now() - dueAt);
      free.push(connection);
      sendWaiting();
      if (latenciesMs.length === total) finish?.();
    });
  }

  for (let index = 0; index < total; index += 1) {
    if (failure !== null) break;
    const waitMs = getDueAt(index) - performance.now();
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
    waiting.push(getDueAt(index));
    sendWaiting();
  }
  if (failure === null && latenciesMs.length < total) await new Promise<void>((resolve) => (finish = resolve));
  if (failure !== null) throw failure;
  return { sent: total, mostInFlight, latenciesMs };
}
