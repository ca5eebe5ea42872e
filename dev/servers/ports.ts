import net from 'node:net';

/**
 * Finds a TCP port of 127.0.0.1 that nothing listens on now.
 * Another program may take it before the caller does: a caller that binds it must be ready to ask again.
 */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = net.createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => {
        if (address !== null && typeof address === 'object') resolve(address.port);
        else reject(new Error('The system gave no port.'));
      });
    });
  });
}

/** Says whether a TCP port of 127.0.0.1 can be listened on now. */
export function isPortFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = net.createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}

/**
 * Chooses the port of a server: the one demanded, else the one it had last time if that is free, else any free one.
 * @throws Error when the demanded port is taken.
 */
export async function choosePort(demanded: number | undefined, remembered: number | undefined): Promise<number> {
  if (demanded !== undefined) {
    if (await isPortFree(demanded)) return demanded;
    throw new Error(`Port ${demanded} of 127.0.0.1 is taken by another program: end it, or choose another port.`);
  }
  if (remembered !== undefined && (await isPortFree(remembered))) return remembered;
  return freePort();
}
