import { once } from 'node:events';
import type { Server } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

const RETRY_FOR_MS = 3_000;
const RETRY_INTERVAL_MS = 100;

/**
 * Listens on a port. Retries for 3 s while the port is in use: the process that this one replaces may still be stopping.
 * @throws Error of the last attempt.
 */
export async function listenWithRetry(server: Server, port: number | undefined, host: string): Promise<void> {
  const deadline = performance.now() + RETRY_FOR_MS;
  for (;;) {
    try {
      server.listen(port, host);
      await once(server, 'listening');
      return;
    } catch (error) {
      const isInUse = (error as NodeJS.ErrnoException).code === 'EADDRINUSE';
      if (!isInUse || performance.now() > deadline) throw error;
      await delay(RETRY_INTERVAL_MS);
    }
  }
}
