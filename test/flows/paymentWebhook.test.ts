import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import Stripe from 'stripe';
import type { ApiResponse } from '../harness/apiClient.ts';
import { eventually, useTestService } from '../harness/testService.ts';
import { expectError } from '../harness/errorEnvelope.ts';
import { sendRawRequest } from '../harness/rawRequest.ts';
import { readTasks } from '../harness/tasks.ts';

const PATH = '/api/billing/webhooks/processor/';
const SECRET = 'whsec_contract';

/** A processor that is configured and unavailable. */
const PROCESSOR_ENV = {
  STRIPE_SECRET_KEY: 'sk_test_x',
  STRIPE_WEBHOOK_SECRET: SECRET,
  STRIPE_PORTAL_CONFIGURATION: 'bpc_1',
  STRIPE_PRICE_LITE: 'price_lite',
  STRIPE_PRICE_STARTER: 'price_starter',
  STRIPE_PRICE_PRO: 'price_pro',
  STRIPE_PRICE_STUDIO: 'price_studio',
  STRIPE_API_BASE: 'http://127.0.0.1:1',
};

const { webhooks } = new Stripe('sk_test_x');

const eventId = () => `evt_${randomUUID().replaceAll('-', '')}`;

function buildEvent(type: string, object: unknown, id: unknown = eventId()): string {
  return JSON.stringify({ id, object: 'event', api_version: '2026-10-01', created: 1, type, data: { object } });
}

function signPayload(payload: string, secondsAgo = 0, secret = SECRET): string {
  return webhooks.generateTestHeaderString({ payload, secret, timestamp: Math.floor(Date.now() / 1_000) - secondsAgo });
}

function send(baseUrl: string, body: string | Uint8Array, signature: string | null): Promise<ApiResponse> {
  const headers = {
    'content-type': 'application/json; charset=utf-8',
    ...(signature === null ? {} : { 'stripe-signature': signature }),
  };
  return sendRawRequest(baseUrl, 'POST', PATH, { headers, body });
}

describe('the webhook of the payment processor', () => {
  const service = useTestService({ apis: 2, env: PROCESSOR_ENV });

  const signed = (body: string, baseUrl = service.baseUrl) => send(baseUrl, body, signPayload(body));
  const task = async (id: string) => (await readTasks(service, 'payment.event')).find(({ key }) => key === id);
  const stored = (id: string) => service.sql('SELECT * FROM payment_events WHERE event_id = $1', [id]);
  const countEvents = async () =>
    (await service.sql('SELECT count(*)::int AS count FROM payment_events'))[0].count as number;

  describe('rejects without storing', () => {
    const body = buildEvent('invoice.paid', { id: 'in_1', object: 'invoice' });
    const now = Math.floor(Date.now() / 1_000);
    const refused: Record<string, () => Promise<ApiResponse>> = {
      'what is not signed': () => send(service.baseUrl, body, null),
      'an empty signature': () => send(service.baseUrl, body, ''),
      'a signature that is none': () => send(service.baseUrl, body, 'x'),
      'a signature without a time': () => send(service.baseUrl, body, `v1=${'0'.repeat(64)}`),
      'a signature without a value': () => send(service.baseUrl, body, `t=${now}`),
      'a signature of another scheme': () => send(service.baseUrl, body, signPayload(body).replace('v1=', 'v0=')),
      'a signature of the wrong length': () => send(service.baseUrl, body, `t=${now},v1=00`),
      'a signature that is no hex': () => send(service.baseUrl, body, `t=${now},v1=${'é'.repeat(32)}`),
      'a signature by another secret': () => send(service.baseUrl, body, signPayload(body, 0, 'whsec_other')),
      'a signature of another body': () => send(service.baseUrl, body, signPayload(`${body} `)),
      'one changed byte': () => send(service.baseUrl, body.replace('in_1', 'in_2'), signPayload(body)),
      'a signature with its time changed': () =>
        send(service.baseUrl, body, signPayload(body, 100).replace(/t=\d+/, `t=${now}`)),
      'what was signed 400 seconds ago': () => send(service.baseUrl, body, signPayload(body, 400)),
      'an empty body': () => signed(''),
      'white space': () => signed('  '),
      'half an object': () => signed(body.slice(0, -1)),
      'what is no JSON': () => signed('id=evt_1&type=invoice.paid'),
      'bytes that are no text': () =>
        send(
          service.baseUrl,
          new Uint8Array([0xff, 0xfe, 0x00]),
          signPayload(Buffer.from([0xff, 0xfe, 0x00]).toString()),
        ),
      'an API key in the place of a signature': () =>
        service.request('POST', PATH, { rawBody: body, headers: { authorization: `Bearer svc_${'ab'.repeat(20)}` } }),
    };
    for (const [what, ask] of Object.entries(refused)) {
      it(`${what}: 400 validation_error`, async () => {
        const before = await countEvents();
        expectError(await ask(), 'validation_error');
        expect(await countEvents()).to.equal(before);
      });
    }

    it('a body of 2 MB, or 20: 413 validation_error; 400 without a recent signature', async () => {
      const before = await countEvents();
      const large = buildEvent('invoice.paid', { id: 'in_1', text: 'x'.repeat(2 * 1024 * 1024) });
      expectError(await signed(large), 'validation_error', 'bytes', 413);
      const larger = { rawBody: 'x'.repeat(20 * 1024 * 1024), headers: { 'stripe-signature': signPayload('x') } };
      expectError(await service.request('POST', PATH, larger), 'validation_error', 'bytes', 413);
      expectError(await send(service.baseUrl, large, null), 'validation_error', 'Stripe-Signature');
      expect(await countEvents()).to.equal(before);
    });

    /** Bodies with a valid signature that are not usable events, or cannot be stored. */
    const noEvents: Record<string, string> = {
      null: 'null',
      'a number': '5',
      'a string': '"evt_1"',
      true: 'true',
      'an array': '[]',
      'an array of events': `[${body}]`,
      'an empty object': '{}',
      'an event without data': '{"id": "evt_none", "type": "invoice.paid"}',
      'an event whose data is null': '{"id": "evt_none", "type": "invoice.paid", "data": null}',
      'an event without an object': '{"id": "evt_none", "type": "invoice.paid", "data": {}}',
      'an event without an id': '{"type": "invoice.paid", "data": {"object": {"id": "in_1"}}}',
      'an event whose id is a number': buildEvent('invoice.paid', { id: 'in_1' }, 5),
      'an event whose id is null': buildEvent('invoice.paid', { id: 'in_1' }, null),
      'an event whose id is an object': buildEvent('invoice.paid', { id: 'in_1' }, { a: 1 }),
      'an event whose id is empty': buildEvent('invoice.paid', { id: 'in_1' }, ''),
      'an event whose id is far too long': buildEvent('invoice.paid', { id: 'in_1' }, randomText(5_000)),
      'an event whose id has a NUL': buildEvent('invoice.paid', { id: 'in_1' }, 'evt_\u0000'),
      'an event whose id is half a surrogate pair': buildEvent('invoice.paid', { id: 'in_1' }, 'evt_\ud800'),
      'an event without a type': '{"id": "evt_none", "data": {"object": {"id": "in_1"}}}',
      'an event whose type is a number': '{"id": "evt_none", "type": 5, "data": {"object": {"id": "in_1"}}}',
      'an event whose type has a NUL': buildEvent('invoice.\u0000', { id: 'in_1' }),
      'an object without an id': buildEvent('invoice.paid', {}),
      'an object whose id is empty': buildEvent('invoice.paid', { id: '' }),
      'an object whose id is a number': buildEvent('invoice.paid', { id: 5 }),
      'an object that is an array': buildEvent('invoice.paid', []),
      'an object that is a string': buildEvent('invoice.paid', 'in_1'),
      'NUL in the id of its object': buildEvent('invoice.paid', { id: 'in_\u0000' }),
      'half a surrogate pair in the id of its object': buildEvent('invoice.paid', { id: 'in_\ud800' }),
      'a very long id of its object': buildEvent('invoice.paid', { id: randomText(20_000) }),
    };
    for (const [what, payload] of Object.entries(noEvents)) {
      it(`${what}, though the signature is valid: 400 validation_error`, async () => {
        const before = await countEvents();
        expectError(await signed(payload), 'validation_error');
        expect(await countEvents()).to.equal(before);
      });
    }
  });

  describe('acknowledges', () => {
    it('an event with several signatures, of which one is valid', async () => {
      const body = buildEvent('product.created', { id: 'prod_1' });
      const [time, ours] = signPayload(body).split(',');
      const { status } = await send(service.baseUrl, body, `${time},v1=${'0'.repeat(64)},${ours},v0=x`);
      expect(status).to.equal(200);
    });

    it('events without a credential and without a rate limit', async () => {
      const { headers } = await signed(buildEvent('product.created', { id: 'prod_1' }));
      expect(headers.get('ratelimit')).to.equal(null);
    });

    it('an event once however often it arrives, also for 50 concurrent requests to two API processes', async () => {
      const body = buildEvent('product.updated', { id: 'prod_1' });
      const { id } = JSON.parse(body);
      const responses = await Promise.all(
        Array.from({ length: 50 }, (_, index) => signed(body, service.baseUrls[index % 2])),
      );
      expect(responses.map((response) => response.status)).to.deep.equal(Array(50).fill(200));
      for (const response of responses) expect(response.body).to.deep.equal({ received: true });
      await eventually('applied', async () => (await stored(id))[0].processed_at !== null);
      const [{ processed_at: appliedAt }] = await stored(id);
      expect((await signed(body)).status).to.equal(200);
      const rows = await stored(id);
      expect(rows.map((row) => row.processed_at)).to.deep.equal([appliedAt]);
    });

    it('valid events among invalid ones, all at once', async () => {
      const bodies = Array.from({ length: 60 }, (_, index) =>
        buildEvent('product.updated', { id: `prod_${index}`, name: index % 3 === 0 ? 'a\u0000b' : 'ab' }),
      );
      const responses = await Promise.all(bodies.map((body, index) => signed(body, service.baseUrls[index % 2])));
      expect(responses.map(({ status }) => status)).to.deep.equal(Array(60).fill(200));
      for (const body of bodies) expect(await stored(JSON.parse(body).id)).to.have.length(1);
    });
  });

  it('stores an event while the processor is unavailable, and changes nothing', async () => {
    const customer = await service.createCustomer(null);
    const [account] = await service.sql('SELECT uuid FROM accounts WHERE email = $1', [customer.email]);
    const metadata = { account_uuid: account.uuid, topup_uuid: randomUUID() };
    const events = [
      buildEvent('customer.subscription.created', { id: 'sub_1', status: 'active', metadata }),
      buildEvent('invoice.paid', { id: 'in_1', status: 'paid', metadata }),
      buildEvent('payment_intent.succeeded', { id: 'pi_1', status: 'succeeded', amount_received: 5000, metadata }),
      buildEvent('checkout.session.completed', { id: 'cs_1', payment_status: 'paid', metadata }),
      buildEvent('charge.refunded', { id: 'ch_1', refunded: true, metadata }),
      buildEvent('charge.dispute.created', { id: 'dp_1', charge: 'ch_1', metadata }),
    ];
    for (const body of events) expect((await signed(body)).status).to.equal(200);
    for (const body of events) {
      const { id } = JSON.parse(body);
      await eventually(`${id} was tried`, async () => (await task(id))?.attempts > 0);
      const [row] = await stored(id);
      expect(row.processed_at).to.equal(null);
      const { last_error: lastError, run_at: runAt } = await task(id);
      expect(lastError).to.be.a('string').with.length.above(0);
      expect(runAt.getTime()).to.be.above(row.received_at.getTime());
    }
    expect(await customer.ledger()).to.deep.equal([]);
    expect((await customer.request('GET', '/api/billing/status/')).body.status).to.equal('none');
  });

  it('marks an event that is not handled as applied, and changes nothing else', async () => {
    const body = buildEvent('radar.early_fraud_warning.updated', { id: 'issfr_1' });
    await signed(body);
    await eventually('applied', async () => (await stored(JSON.parse(body).id))[0].processed_at !== null);
    await eventually('done', async () => (await task(JSON.parse(body).id)) === undefined);
  });

  it('never reveals the signing secret', async () => {
    const { body } = await send(service.baseUrl, '{}', signPayload('{ }'));
    expect(JSON.stringify(body)).to.not.include(SECRET);
    for (const part of [...service.apis, ...service.workers]) {
      expect(part.logs()).to.not.include(SECRET);
      expect(part.logs()).to.not.include('sk_test_x');
    }
  });
});

describe('the webhook without a payment processor', () => {
  const service = useTestService({ workers: 0 });

  it('returns 400 validation_error for every request', async () => {
    const body = buildEvent('invoice.paid', { id: 'in_1' });
    for (const signature of [null, 'x', signPayload(body)]) {
      expectError(await send(service.baseUrl, body, signature), 'validation_error', 'payment processor');
    }
  });
});

describe('the webhook without workers', () => {
  const service = useTestService({
    workers: 0,
    env: { ...PROCESSOR_ENV, RATE_LIMITS: 'on', RATE_PUBLIC_PER_MINUTE: '5' },
  });

  const acknowledged: Record<string, string> = {
    'a type that is not handled': buildEvent('radar.early_fraud_warning.created', { id: 'issfr_1' }),
    'a type that does not exist': buildEvent('constructor', { id: 'x_1' }),
    'NUL in its contents': buildEvent('product.created', { id: 'prod_1', name: 'a\u0000b' }),
    'half a surrogate pair in its contents': buildEvent('product.created', { id: 'prod_1', name: '\ud800' }),
    'numbers out of range': buildEvent('product.created', { id: 'prod_1', n: 0 }).replace('"n":0', '"n":1e999'),
    'deep nesting': buildEvent('product.created', { id: 'prod_1', deep: 0 }).replace(
      '"deep":0',
      `"deep":${'['.repeat(100_000)}${']'.repeat(100_000)}`,
    ),
    'text of every script': buildEvent('product.created', { id: 'prod_1', name: 'é 漢 😀 \u2028' }),
    '900 KB': buildEvent('product.created', { id: 'prod_1', text: 'x'.repeat(900_000) }),
    __proto__: buildEvent('product.created', { id: 'prod_1' }).replace('"data"', '"__proto__":{"id":"evt_x"},"data"'),
  };
  for (const [what, payload] of Object.entries(acknowledged)) {
    it(`acknowledges ${what}: 200, stored unchanged`, async () => {
      const { status, body } = await send(service.baseUrl, payload, signPayload(payload));
      expect([status, body]).to.deep.equal([200, { received: true }]);
      const [row] = await service.sql('SELECT payload FROM payment_events WHERE event_id = $1', [
        JSON.parse(payload).id,
      ]);
      expect(row.payload).to.equal(payload);
    });
  }

  it('counts rejected requests against their address, and never those of the processor', async () => {
    const body = buildEvent('product.created', { id: 'prod_1' });
    const rejected: (() => Promise<ApiResponse>)[] = [
      () => send(service.baseUrl, body, null),
      () => send(service.baseUrl, body, signPayload(body, 400)),
      () => send(service.baseUrl, body, signPayload(body, 0, 'whsec_other')),
      () => send(service.baseUrl, body, 'x'),
      () => send(service.baseUrl, body, signPayload(`${body} `)),
    ];
    for (const ask of rejected) expectError(await ask(), 'validation_error');
    const limited = await send(service.baseUrl, body, null);
    expectError(limited, 'rate_limited');
    expect(Number(limited.headers.get('retry-after'))).to.be.within(1, 60);
    for (let index = 0; index < 10; index += 1) {
      const event = buildEvent('product.created', { id: 'prod_1' });
      expect((await send(service.baseUrl, event, signPayload(event))).status).to.equal(200);
    }
  });
});

/** Text that does not compress. */
function randomText(characters: number): string {
  return Array.from({ length: Math.ceil(characters / 36) }, () => randomUUID())
    .join('')
    .slice(0, characters);
}
