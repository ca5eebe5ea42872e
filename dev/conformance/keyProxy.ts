import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Forwards requests to the service and adds an API key to each, since the suite sends none. */
export interface KeyProxy {
  port: number;
  /** Sets the port and the key for the following requests. */
  open(targetPort: number, key: string): void;
  close(): void;
}

export async function startKeyProxy(): Promise<KeyProxy> {
  let target = { port: 0, key: '' };
  const server = createServer((incoming, outgoing) => {
    const { method, url: path } = incoming;
    const headers = { ...incoming.headers, authorization: `Bearer ${target.key}` };
    const passed = request({ host: '127.0.0.1', port: target.port, method, path, headers }, (response) => {
      outgoing.writeHead(response.statusCode ?? 502, response.headers);
      outgoing.flushHeaders();
      response.pipe(outgoing);
      response.on('error', () => outgoing.destroy());
    });
    passed.on('error', () => outgoing.destroy());
    outgoing.on('close', () => passed.destroy());
    incoming.pipe(passed);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    open: (port, key) => {
      target = { port, key };
    },
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
