import type { BareKoa } from '../baselines/bareKoa.ts';
import type { Bench } from '../bench.ts';
import type { Figures } from '../figure.ts';
import { buildPost, REQUEST_NUMBER, STRIPE_SIGNATURE } from '../httpRequests.ts';
import { countRows, verifyCount } from '../verify.ts';

const CLIENTS = 32;
const SECRET = 'whsec_bench';

/** A processor that is never called, since no worker runs. */
const PROCESSOR_ENV = {
  STRIPE_SECRET_KEY: 'sk_test_bench',
  STRIPE_WEBHOOK_SECRET: SECRET,
  STRIPE_PORTAL_CONFIGURATION: 'bpc_bench',
  STRIPE_PRICE_LITE: 'price_lite',
  STRIPE_PRICE_STARTER: 'price_starter',
  STRIPE_PRICE_PRO: 'price_pro',
  STRIPE_PRICE_STUDIO: 'price_studio',
  STRIPE_API_BASE: 'http://127.0.0.1:1',
};

/**
 * Measures acknowledgements of signed events, each of which is new, stored and enqueued, against bare Koa that inserts
 * one row. All of them are counted at the end.
 */
export async function* measure(bench: Bench): Figures {
  const { url, client } = await bench.database('payment_webhooks');
  await client.query('CREATE TABLE bare_events (LIKE payment_events INCLUDING ALL)');
  const api = await bench.api(url, PROCESSOR_ENV);
  const koa = await bench.child<BareKoa>('baselines/bareKoa.ts', url);
  const http = await bench.http();
  const requests = [buildEvent()];
  await http.prepare({ name: 'ours', port: api.port, requests, stripeSecret: SECRET });
  await http.prepare({ name: 'bare', port: await koa.port(), requests, stripeSecret: SECRET });
  const sent = { ours: 0, bare: 0 };
  const run = async (name: 'ours' | 'bare') => {
    const result = await http.run(name, CLIENTS, bench.options.roundMs);
    sent[name] += result.done;
    return result;
  };
  yield {
    name: `payment webhook, ${CLIENTS} clients, p99 : bare Koa and one insert`,
    ours: () => bench.timed({ api, client: http }, () => run('ours')),
    bare: () => bench.timed({ koa, client: http }, () => run('bare')),
    by: 'p99 ms',
    target: [2, 1.5],
  };
  verifyCount('stored events', await countRows(client, 'payment_events'), sent.ours);
  verifyCount('rows of the baseline', await countRows(client, 'bare_events'), sent.bare);
}

/** Builds an event as Stripe sends it, about as long as that of an invoice. */
function buildEvent(): string {
  const lines = Array.from({ length: 12 }, (_, line) => ({
    id: `il_bench${line}`,
    object: 'line_item',
    amount: 34_800,
    currency: 'usd',
    description: '1 x Pro (at $348.00 / year)',
    metadata: {},
  }));
  const event = {
    id: `evt_${REQUEST_NUMBER}`,
    object: 'event',
    created: Math.floor(Date.now() / 1_000),
    type: 'radar.bench',
    data: { object: { id: 'in_bench', object: 'invoice', lines } },
  };
  const headers = [`Stripe-Signature: ${STRIPE_SIGNATURE}`];
  return buildPost('/api/billing/webhooks/processor/', headers, JSON.stringify(event));
}
