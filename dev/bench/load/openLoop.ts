import type { HttpConnection } from './connection.ts';

/** Requests at a constant rate, whatever the time of earlier ones. */
export interface OpenLoopResult {
  sent: number;
  /** Most requests in progress at a time. */
  mostInFlight: number;
}

/**
 * Sends requests at the times that a rate demands. Each takes a connection that is free, or a new one: a request that
 * takes long delays no other.
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
  const free = [...connections];
  let failure: Error | null = null;
  let inFlight = 0;
  let mostInFlight = 0;

  async function exchange(): Promise<void> {
    inFlight += 1;
    mostInFlight = Math.max(mostInFlight, inFlight);
    let connection = free.pop();
    if (connection === undefined) {
      connection = await open();
      connections.push(connection);
    }
    const used = connection;
    await new Promise<void>((resolve) => {
      send(used, (error) => {
        failure ??= error;
        resolve();
      });
    });
    free.push(used);
    inFlight -= 1;
  }

  const exchanges: Promise<void>[] = [];
  for (let sent = 0; sent < total && failure === null; sent += 1) {
    const waitMs = startedAt + (1_000 * sent) / perSecond - performance.now();
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
    exchanges.push(exchange());
  }
  await Promise.all(exchanges);
  if (failure !== null) throw failure;
  return { sent: total, mostInFlight };
}
