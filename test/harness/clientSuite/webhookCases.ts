import { verifyWebhook, type WebhookHeaders, WebhookVerificationError } from '@genmeter/client';
import { catchThrown, check, checkEqual, checkFields, checkRejected, eventually, readAll } from './check.ts';
import { IMAGE, type SuiteCase, type SuiteContext } from './context.ts';

/** A webhook that the proxy has received. */
interface Received {
  headers: Record<string, string>;
  body: string;
}

/** Address of a receiver, which accepts everything. */
const createReceiver = ({ settings }: SuiteContext, name: string): string => `${settings.proxyUrl}/hooks/${name}`;

/** Returns what has arrived at a receiver. */
async function readReceived(url: string): Promise<Received[]> {
  return (await (await fetch(url)).json()) as Received[];
}

async function waitForWebhooks(url: string, count: number): Promise<Received[]> {
  await eventually(`${count} webhooks arrived`, async () => (await readReceived(url)).length >= count);
  return readReceived(url);
}

async function checkUnverified(body: string, headers: WebhookHeaders, key: string): Promise<void> {
  const thrown = await catchThrown(verifyWebhook(body, headers, key));
  check(thrown instanceof WebhookVerificationError, `expected a WebhookVerificationError, got ${String(thrown)}`);
}

export const WEBHOOK_CASES: SuiteCase[] = [
  {
    title: 'webhooks.create, get, list, update, rotateSecret and delete manage endpoints',
    run: async (context) => {
      const { webhooks } = context.open('main');
      const url = createReceiver(context, context.unique());
      const { secret, ...created } = await webhooks.create({ url, events: ['generation.succeeded'] });
      check(secret.startsWith('whsec_') && created.public_key.startsWith('whpk_'), 'keys');
      checkEqual(await webhooks.get(created.uuid), created, 'get');
      const changed = await webhooks.update(created.uuid, { enabled: false, description: 'off' });
      checkFields(changed, { enabled: false, description: 'off', disabled_reason: 'owner' }, 'changed');
      check((await webhooks.rotateSecret(created.uuid)).secret !== secret, 'the secret is the same');
      const listed = (await readAll(webhooks.list())).map(({ uuid }) => uuid);
      checkEqual(listed, [created.uuid], 'list');
      await webhooks.delete(created.uuid);
      checkEqual(await readAll(webhooks.list()), [], 'list after delete');
      await checkRejected(webhooks.get(created.uuid), { error: 'not_found', status: 404 });
      await checkRejected(webhooks.create({ url: 'nowhere' }), { error: 'validation_error', status: 400 });
    },
  },
  {
    title:
      'webhooks.test, deliveries and redeliver send events, and verifyWebhook verifies them with both kinds of keys',
    run: async (context) => {
      const { webhooks } = context.open('main');
      const url = createReceiver(context, context.unique());
      const { uuid, secret, public_key: publicKey } = await webhooks.create({ url });
      const delivery = await webhooks.test(uuid);
      checkEqual(delivery.type, 'webhook.test', 'type');
      const [{ headers, body } = { headers: {}, body: '' }] = await waitForWebhooks(url, 1);
      for (const key of [secret, publicKey, [`whsec_${btoa('x'.repeat(32))}`, secret]]) {
        checkEqual((await verifyWebhook(body, headers, key)).type, 'webhook.test', 'verified');
      }
      const bytes = new TextEncoder().encode(body);
      for (const payload of [bytes, bytes.buffer]) await verifyWebhook(payload, new Headers(headers), secret);
      await checkUnverified(`${body} `, headers, secret);
      await checkUnverified(body, headers, `whsec_${btoa('x'.repeat(32))}`);
      await checkUnverified(body, { ...headers, 'webhook-timestamp': '1700000000' }, secret);
      await checkUnverified(body, { ...headers, 'webhook-signature': '' }, publicKey);

      const isDelivered = async () => (await webhooks.deliveries(uuid).page()).data[0]?.status === 'succeeded';
      await eventually('the delivery succeeded', isDelivered);
      await webhooks.redeliver(uuid, delivery.uuid);
      const ids = (await waitForWebhooks(url, 2)).map((one) => one.headers['webhook-id']);
      checkEqual(ids, [ids[0], ids[0]], 'ids');
      const deliveries = await readAll(webhooks.deliveries(uuid, { status: 'succeeded' }));
      check(
        deliveries.some((one) => one.uuid === delivery.uuid),
        'the delivery is not listed',
      );
      await webhooks.delete(uuid);
    },
  },
  {
    title: 'the end of a generation sends an event with the generation that get returns',
    run: async (context) => {
      const { webhooks, generations } = context.open('main');
      const url = createReceiver(context, context.unique());
      const { uuid, secret } = await webhooks.create({ url, events: ['generation.succeeded'] });
      const generation = await generations.create({ ...IMAGE, prompt: 'A lighthouse' });
      const [{ headers, body } = { headers: {}, body: '' }] = await waitForWebhooks(url, 1);
      const event = await verifyWebhook(body, headers, secret);
      check(event.type === 'generation.succeeded', `type is ${event.type}`);
      checkEqual(headers['webhook-id']?.startsWith('msg_'), true, 'webhook-id');
      checkEqual(event.data, await generations.get(generation.uuid), 'data');
      await webhooks.delete(uuid);
    },
  },
];
