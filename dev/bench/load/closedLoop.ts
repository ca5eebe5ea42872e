import { quantile } from '../../local/statistics.ts';

/** Does one thing, and calls back when it is done. */
export type LoopClient = (done: (error: Error | null) => void) => void;

export interface LoopResult {
  done: number;
  perSecond: number;
  medianMs: number;
  p99Ms: number;
}

/** Clients in a closed loop: each begins its next exchange when its last one has ended. */
export interface ClosedLoop {
  /** Raises the total number of exchanges that may begin. */
  allow(total: number): void;
  /** Begins no more exchanges, and resolves when those in progress have ended. */
  stop(): Promise<LoopResult>;
}

/** Starts clients in a closed loop, up to a number of exchanges that may be raised. */
export function startLoop(clients: readonly LoopClient[], allowed = Number.POSITIVE_INFINITY): ClosedLoop {
  const startedAt = performance.now();
  const latencies: number[] = [];
  const paused: LoopClient[] = [];
  let lastDoneAt = startedAt;
  let limit = allowed;
  let started = 0;
  let inFlight = 0;
  let isStopping = false;
  let failure: Error | null = null;
  let finish: (() => void) | undefined;

  function start(client: LoopClient): void {
    if (isStopping || failure !== null) {
      if (inFlight === 0) finish?.();
      return;
    }
    if (started >= limit) {
      paused.push(client);
      return;
    }
    started += 1;
    inFlight += 1;
    const sentAt = performance.now();
    client((error) => {
      inFlight -= 1;
      failure ??= error;
      lastDoneAt = performance.now();
      latencies.push(lastDoneAt - sentAt);
      start(client);
    });
  }

  for (const client of clients) start(client);
  return {
    allow: (total) => {
      limit = total;
      while (paused.length > 0 && started < limit) start(paused.pop() as LoopClient);
    },
    stop: async () => {
      isStopping = true;
      if (inFlight > 0) await new Promise<void>((resolve) => (finish = resolve));
      if (failure !== null) throw failure;
      return {
        done: latencies.length,
        perSecond: (1_000 * latencies.length) / (lastDoneAt - startedAt),
        medianMs: quantile(latencies, 0.5),
        p99Ms: quantile(latencies, 0.99),
      };
    },
  };
}

/** Runs clients for this long, then lets each finish its exchange. */
export async function runLoop(clients: readonly LoopClient[], durationMs: number): Promise<LoopResult> {
  const loop = startLoop(clients);
  await new Promise((resolve) => setTimeout(resolve, durationMs));
  return loop.stop();
}
