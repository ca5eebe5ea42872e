import { isPortFree } from '../../dev/servers/ports.ts';

/**
 * Each of mocha's processes has its own range of ports, beside that of `freePort` and below those that systems give to
 * outgoing connections: no other process takes a port between the check and its use.
 */
const FIRST = 20_000;
const EACH = 1_500;
const workerId = Number(process.env['MOCHA_WORKER_ID'] ?? 0);
let last = Math.floor(Math.random() * EACH);

/** A port of 127.0.0.1 that a service of this file can listen on. */
export async function ownPort(): Promise<number> {
  for (;;) {
    last = (last + 1) % EACH;
    const port = FIRST + workerId * EACH + last;
    if (await isPortFree(port)) return port;
  }
}
