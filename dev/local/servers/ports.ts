import net from 'node:net';

/**
 * Below the ports of outgoing connections (from 32768 on Linux, 49152 elsewhere), which could take a port between this
 * check and its use. Above 10080, which fetch rejects.
 */
const FIRST_PORT = 11_000;
const PORT_COUNT = 9_000;
const MAX_ATTEMPTS = 500;

/** Ports that this process has allocated, which may not be in use yet. */
const allocatedPorts = new Set<number>();

/** Finds a TCP port of 127.0.0.1 that nothing listens on, and that this process has not allocated before. */
export async function findFreePort(): Promise<number> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const port = FIRST_PORT + Math.floor(Math.random() * PORT_COUNT);
    if (allocatedPorts.has(port) || !(await isPortFree(port))) continue;
    allocatedPorts.add(port);
    return port;
  }
  throw new Error(`No free port of 127.0.0.1 was found from ${FIRST_PORT} to ${FIRST_PORT + PORT_COUNT - 1}.`);
}

/** Returns true if a TCP port of 127.0.0.1 is free. */
export function isPortFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = net.createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}

/**
 * Chooses the port of a server: the requested one, else the last one if it is free, else any free one.
 * @throws Error if the requested port is taken.
 */
export async function choosePort(requested: number | undefined, previous: number | undefined): Promise<number> {
  if (requested !== undefined) {
    if (await isPortFree(requested)) return requested;
    throw new Error(`Port ${requested} of 127.0.0.1 is in use by another program: stop it, or choose another port.`);
  }
  if (previous !== undefined && (await isPortFree(previous))) return previous;
  return findFreePort();
}
