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
  {
    status: 503,
    data: {
      description: 'Staging: asset pipeline of the marketing team',
      events: ['generation.succeeded', 'generation.failed', 'subscription.updated', 'affiliate.commission'],
    },
  },
  { status: 410, data: {} },
] as const;
/** Path of addresses, without a place to wrap. */
const LONG_PATH = 'notifications-of-the-image-and-video-pipeline/production_environment_of_the_marketing_team';

/**
 * Creates webhook endpoints in different states, with deliveries: one that works, one that fails and one that is gone.
 * @param generation request of a generation whose end is delivered to them, and to an address of its own.
 * @returns the paths of their pages.
 */
export async function createDemoEndpoints(send: SendRequest, generation: object): Promise<string[]> {
  // Without repeated attempts.
  const received = new Set<string>();
  const receiver = createServer((request, response) => {
    received.add(`${request.url} ${String(request.headers['webhook-id'])}`);
    request.resume();
    response.writeHead(Number(request.url?.split('/')[1])).end('{"received":true}');
  });
  receiver.listen(0, '127.0.0.1');
  await once(receiver, 'listening');
  const { port } = receiver.address() as AddressInfo;
  const buildUrl = (status: number) => `http://127.0.0.1:${port}/${status}/${LONG_PATH}`;
  const waitForMessages = (count: number) => waitUntil(() => Promise.resolve(received.size >= count), TIMEOUT_MS);
  const paths: string[] = [];
  for (const { status, data } of DEMO_ENDPOINTS) {
    const { uuid } = await send('POST', '/api/webhooks/create/', { ...data, url: buildUrl(status) });
    const delivery = await send('POST', `/api/webhooks/${String(uuid)}/test/`, {});
    // The fragment makes the names of the pictures differ.
    const path = `/account/webhooks/${String(uuid)}/`;
    paths.push(`${path}#${status}`, `${path}deliveries/${String(delivery['uuid'])}/#${status}`);
  }
  await waitForMessages(DEMO_ENDPOINTS.length);
  await send('POST', '/api/generations/create/', { ...generation, webhook_url: buildUrl(204) });
  // The address of the generation, and the endpoints other than the one that is gone.
  await waitForMessages(2 * DEMO_ENDPOINTS.length);
  // It keeps responding until this process ends.
  receiver.unref();
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
  return receivePath(dataDir, 'balance is low', /\/unsubscribe\/[\w.-]+/);
}

/**
 * Waits for a message.
 * @param subject part of its subject.
 * @returns the path in it.
 */
export async function receivePath(dataDir: string, subject: string, path: RegExp): Promise<string> {
  const mailbox = `http://127.0.0.1:${readServerRecord(join(dataDir, 'mailbox/page.json'))?.port ?? 0}`;
  const read = async (page: string) => (await fetch(`${mailbox}${page}`)).text();
  let found: string | undefined;
  await waitUntil(async () => {
    const [, message] = new RegExp(`href="(/messages/\\d+/)">[^<]*${subject}`).exec(await read('/')) ?? [];
    if (message !== undefined) found = path.exec(await read(message))?.[0];
    return found !== undefined;
  }, TIMEOUT_MS);
  if (found === undefined) throw new Error(`The mailbox received no message "${subject}".`);
  return found;
}
