import { isPortFree } from '../../dev/local/servers/ports.ts';

/**
 * Each mocha process has its own range of ports, beside that of `findFreePort` and below the ports of outgoing
 * connections: no other process takes a port between the check and its use. A run within a test starts at
 * `NESTED_RUN_FIRST_PORT`, above the ranges of the end-to-end run around it.
 */
const FIRST_PORT = Number(process.env['TEST_FIRST_PORT'] ?? 20_000);
export const NESTED_RUN_FIRST_PORT = 26_000;
const PORTS_PER_PROCESS = 1_500;
const workerId = Number(process.env['MOCHA_WORKER_ID'] ?? 0);
let lastOffset = Math.floor(Math.random() * PORTS_PER_PROCESS);

/** Allocates a port of 127.0.0.1 for a service of this file. */
export async function allocatePort(): Promise<number> {
  for (;;) {
    lastOffset = (lastOffset + 1) % PORTS_PER_PROCESS;
    const port = FIRST_PORT + workerId * PORTS_PER_PROCESS + lastOffset;
    if (await isPortFree(port)) return port;
  }
}
