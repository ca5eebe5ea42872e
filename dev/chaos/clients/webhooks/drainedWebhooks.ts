import { isDeepStrictEqual } from 'node:util';
import type { KnownKeys, WebhookBody } from './webhookStore.ts';
import { isGenerationEvent, parseWebhookBody } from './webhookStore.ts';
import { sendWithSession } from '../onboardCustomer.ts';
import { sendWithKey } from '../restRequests.ts';
import { reportViolation, sleepUnlessStopped, type Step } from '../clientState.ts';

/** Number of generations per customer whose messages are compared with the response of GET. */
const SAMPLE_SIZE = 12;
const MAX_ATTEMPTS = 10;
const RETRY_MS = 200;

/** Fetches the keys of the default endpoint, and compares messages about generations with what GET answers. */
export async function checkDrainedWebhooks(step: Step): Promise<void> {
  const { state, customer } = step;
  const { targets, messages, defaultKeys } = state.store.webhooks;
  const own = messages.filter(({ token }) => targets.get(token)?.accountUuid === customer.uuid);
  if (own.some(({ token }) => targets.get(token)?.endpoint === null)) {
    const keys = await fetchDefaultKeys(step);
    if (keys !== null) defaultKeys.set(customer.uuid as string, keys);
  }
  const sent = new Map<string, WebhookBody>();
  for (const { body: text } of own) {
    const body = parseWebhookBody(text);
    if (body !== null && isGenerationEvent(body.type)) sent.set(String(body.data['uuid']), body);
  }
  for (const [uuid, body] of [...sent].slice(-SAMPLE_SIZE)) await compareWithGet(step, uuid, body);
}

async function fetchDefaultKeys(step: Step): Promise<KnownKeys | null> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const response = await sendWithSession(step, {
      kind: 'default secret',
      method: 'GET',
      path: '/api/webhooks/default/secret/',
      status: 200,
      shape: 'webhookSecret',
    });
    const { secret, public_key: publicKey } = response.body ?? {};
    if (response.isGood) return { secret, publicKey, confirmedAt: Date.now() };
    await sleepUnlessStopped(step.state, RETRY_MS);
  }
  return null;
}

async function compareWithGet(step: Step, uuid: string, { type, data }: WebhookBody): Promise<void> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const response = await sendWithKey(step, {
      kind: 'read announced',
      method: 'GET',
      path: `/api/generations/${uuid}/`,
      // A client may have deleted it.
      expectedErrors: ['not_found'],
      status: 200,
      shape: 'generation',
    });
    if (response.isGood && !isDeepStrictEqual(withPaths(data), withPaths(response.body))) {
      const detail = `${type} contained ${JSON.stringify(data)}, and GET returns ${response.text}`;
      reportViolation(step, 'webhook-data-equals-get', uuid, detail);
    }
    if (response.isGood || response.status === 404) return;
    await sleepUnlessStopped(step.state, RETRY_MS);
  }
}

const toPath = (url: unknown): unknown => (typeof url === 'string' ? new URL(url).pathname : url);

/** Reduces addresses to their paths: each process may build them with another origin. */
function withPaths(generation: WebhookBody['data']): WebhookBody['data'] {
  return {
    ...generation,
    output_url: toPath(generation['output_url']),
    thumbnail_url: toPath(generation['thumbnail_url']),
  };
}
