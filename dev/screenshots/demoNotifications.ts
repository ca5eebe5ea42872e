import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { waitUntil } from '../local/servers/processes.ts';
import { readServerRecord } from '../local/servers/runningServer.ts';

/** Sends a request of a customer with a JSON body. @returns the body of the response. */
type SendRequest = (method: 'POST' | 'PATCH', path: string, data: object) => Promise<Record<string, unknown>>;

const TIMEOUT_MS = 30_000;
/** Endpoints by the status with which their receiver responds. */
const DEMO_ENDPOINTS = [
  { status: 204, data: { description: 'Production' } },
  { status: 503, data: { description: 'Staging', events: ['generation.succeeded', 'generation.failed'] } },
  { status: 410, data: {} },
] as const;

/**
 * Creates webhook endpoints in different states, with deliveries: one that works, one that fails and one that is gone.
 * @returns the paths of their pages.
 */
export async function createDemoEndpoints(send: SendRequest): Promise<string[]> {
  let received = 0;
  const receiver = createServer((request, response) => {
    received += 1;
    request.resume();
    response.writeHead(Number(request.url?.slice(1))).end();
  });
  receiver.listen(0, '127.0.0.1');
  await once(receiver, 'listening');
  const { port } = receiver.address() as AddressInfo;
  const paths: string[] = [];
  for (const { status, data } of DEMO_ENDPOINTS) {
    const body = { ...data, url: `http://127.0.0.1:${port}/${status}` };
    const { uuid } = await send('POST', '/api/webhooks/create/', body);
    await send('POST', `/api/webhooks/${String(uuid)}/test/`, {});
    // The fragment makes the names of the pictures differ.
    paths.push(`/account/webhooks/${String(uuid)}/#${status}`);
  }
  await waitUntil(() => Promise.resolve(received >= DEMO_ENDPOINTS.length), TIMEOUT_MS);
  receiver.close();
  return paths;
}

/**
 * Causes a message about a low balance.
 * @param dataDir folder of the service, which names the page of its mailbox.
 * @returns the path that unsubscribes from such messages.
 */
export async function receiveUnsubscribePath(send: SendRequest, dataDir: string, generation: object): Promise<string> {
  await send('PATCH', '/api/notifications/settings/', { credits_low_threshold: 1_000_000 });
  await send('POST', '/api/generations/create/', generation);
  await send('PATCH', '/api/notifications/settings/', { credits_low_threshold: null });
  const mailbox = `http://127.0.0.1:${readServerRecord(join(dataDir, 'mailbox/page.json'))?.port ?? 0}`;
  const read = async (path: string) => (await fetch(`${mailbox}${path}`)).text();
  let path: string | undefined;
  await waitUntil(async () => {
    const [, message] = /href="(\/messages\/\d+\/)">[^<]*balance is low/.exec(await read('/')) ?? [];
    if (message !== undefined) path = /\/unsubscribe\/[\w.-]+/.exec(await read(message))?.[0];
    return path !== undefined;
  }, TIMEOUT_MS);
  if (path === undefined) throw new Error('The mailbox received no message about a low balance.');
  return path;
}
