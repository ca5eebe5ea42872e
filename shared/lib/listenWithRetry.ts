import { once } from 'node:events';
import type { Server } from 'node:net';
import pRetry from 'p-retry';

/**
 * Listens on a port. Retries for 3 s while the port is in use: the process that this one replaces may still be stopping.
 * @throws Error of the last attempt.
 */
export async function listenWithRetry(server: Server, port: number | undefined, host: string): Promise<void> {
  const listen = () => {
    server.listen(port, host);
    return once(server, 'listening');
  };
  await pRetry(listen, {
    retries: Number.POSITIVE_INFINITY,
    maxRetryTime: 3_000,
    minTimeout: 100,
    factor: 1,
    shouldRetry: ({ error }) => (error as NodeJS.ErrnoException).code === 'EADDRINUSE',
  });
}
