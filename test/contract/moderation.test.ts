import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { moderationDuration } from '../../shared/lib/metrics.ts';
import { FakeModerationService, MODERATION_FAULTS } from '../fakes/moderationService.ts';
import { type ApiResponse, type TestCustomer, IMAGE, VIDEO } from '../harness/apiClient.ts';
import { countOccurrences, expectError } from '../harness/errorEnvelope.ts';
import { buildToolCall, openMcpSession, postMcp } from '../harness/mcpClient.ts';
import { setAllModelsOnline, setModelHealth } from '../harness/seeds.ts';
import { type TestService, startTestService } from '../harness/testService.ts';

const TOKEN = 'token-of-the-hook';
const TIMEOUT_MS = 1_500;
const CREATE = '/api/generations/create/';

const PROMPT = 'a lighthouse';
const create = (customer: TestCustomer, body: object = {}, headers: Record<string, string> = {}) =>
  customer.request('POST', CREATE, { body: { ...IMAGE, prompt: PROMPT, ...body }, headers });
const createWithKey = (customer: TestCustomer, key: string, body: object = {}) =>
  create(customer, body, { 'idempotency-key': key });

/** Calls `generate_image` in a session of its own. @returns the result of the tool. */
async function callImageTool(customer: TestCustomer, args: object = {}, meta?: object): Promise<any> {
  const call = buildToolCall('generate_image', { prompt: PROMPT, resolution: '1K', ...args }, 1, meta);
  return (await postMcp(customer, call, { headers: await openMcpSession(customer) })).body.result;
}

/** Fails unless the response is a 503 that can be retried. */
function expectUndecided(response: ApiResponse): void {
  const { status, body, headers } = response;
  expect([status, body.error], JSON.stringify(body)).to.deep.equal([503, 'internal_error']);
  expect(body.detail).to.match(/^The content check is temporarily unavailable\. /);
  expect(Number(headers.get('retry-after'))).to.be.within(1, 60);
}

async function countVerdicts(): Promise<Record<string, number>> {
  const { values } = await moderationDuration.get();
  const counts = values.filter(({ metricName }) => metricName?.endsWith('_count') === true);
  return Object.fromEntries(counts.map(({ labels, value }) => [String(labels.outcome), value]));
}

describe('content moderation', () => {
  const hook = new FakeModerationService();
  let service: TestService;
  let customer: TestCustomer;
  before(async () => {
    await hook.start();
    const env = {
      MODERATION_URL: `${hook.url}/check?v=1`,
      MODERATION_TOKEN: TOKEN,
      MODERATION_TIMEOUT_MS: String(TIMEOUT_MS),
    };
    service = await startTestService({ workers: 0, env });
    await service.startApi({ MODERATION_ON_ERROR: 'allow' });
    await setAllModelsOnline(service);
  });
  beforeEach(async () => {
    hook.decide = () => ({ allow: true });
    customer = await service.createCustomer('pro');
    hook.received.length = 0;
  });
  after(async () => {
    await service.stop();
    await hook.stop();
  });

  const expectNothingCharged = async (of = customer) => expect(await of.ledger()).to.deep.equal([['grant', 1100]]);

  describe('that allows', () => {
    it('receives account, model, kind, prompt and params with defaults, and the token', async () => {
      const { user } = (await customer.requestWithSession('GET', '/authentication/me/')).body;
      const { status, body } = await create(customer, { ...VIDEO, prompt: ' a "lighthouse" \n\u{1f30a} ' });
      expect(status).to.equal(201);
      expect(hook.received).to.have.length(1);
      const [{ method, path, headers, body: sent }] = hook.received as any;
      expect([method, path]).to.deep.equal(['POST', '/check?v=1']);
      expect(headers).to.deep.include({ authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' });
      expect(sent).to.deep.equal({
        account: user.uuid,
        model: 'vidmodel-video',
        kind: 'video',
        prompt: 'a "lighthouse" \n\u{1f30a}',
        params: { duration: 5, resolution: '720p', audio: false, aspect_ratio: '16:9' },
        inputs: [],
      });
      expect(body.prompt).to.equal(sent.prompt);
      expect(await customer.balance()).to.equal(1100 - 35);
    });

    it('uses a connection again', async () => {
      const before = await countVerdicts();
      expect((await create(customer)).status).to.equal(201);
      expect((await create(customer)).status).to.equal(201);
      expect(hook.received.map(({ headers }) => headers.connection)).to.deep.equal(['keep-alive', 'keep-alive']);
      expect((await countVerdicts())['allowed']).to.equal((before['allowed'] ?? 0) + 2);
    });
  });

  describe('that denies', () => {
    it('rejects the create with 400 content_rejected and the reason, and charges nothing', async () => {
      hook.decide = () => ({ allow: false, reason: 'Depictions of this person are not allowed' });
      const before = await countVerdicts();
      const response = await create(customer);
      expectError(
        response,
        'content_rejected',
        'Depictions of this person are not allowed. This request was not charged.',
      );
      expectError(
        await customer.requestWithSession('POST', CREATE, { body: { ...IMAGE, prompt: PROMPT } }),
        'content_rejected',
      );
      await expectNothingCharged();
      expect((await customer.request('GET', '/api/generations/')).body.data).to.deep.equal([]);
      expect((await countVerdicts())['denied']).to.equal((before['denied'] ?? 0) + 2);
    });

    it('rejects over MCP with the same code and detail', async () => {
      hook.decide = () => ({ allow: false, reason: 'Not here.' });
      const { detail } = (await create(customer)).body;
      const result = await callImageTool(customer);
      expect(result.isError).to.equal(true);
      expect(result.structuredContent).to.deep.equal({ error: 'content_rejected', detail });
      await expectNothingCharged();
    });

    for (const [what, reason] of [
      ['no reason', undefined],
      ['a reason that is not a text', { text: 'no' }],
      ['an empty reason', ' \n '],
    ] as const) {
      it(`gives a general reason if there is ${what}`, async () => {
        hook.decide = () => ({ allow: false, reason });
        expectError(await create(customer), 'content_rejected', 'The content is not allowed.');
      });
    }

    it('shows the reason on one line of at most 500 characters', async () => {
      hook.decide = () => ({ allow: false, reason: `a\u0000b\r\n\u001bc ${'\u{1f30a}'.repeat(600)}` });
      const { status, body } = await create(customer);
      expect(status).to.equal(400);
      expect(body.detail).to.match(/^a b c \u{1f30a}+\ufffd?\. This request was not charged\./u);
      expect(body.detail.length).to.be.below(600);
    });

    it('accepts the same Idempotency-Key with a prompt that is allowed', async () => {
      const key = randomUUID();
      hook.decide = ({ body }) => ({ allow: body.prompt === 'a harbour' });
      expectError(await createWithKey(customer, key), 'content_rejected');
      expect((await createWithKey(customer, key, { prompt: 'a harbour' })).status).to.equal(201);
    });
  });

  describe('is not asked', () => {
    it('about a repeated request, which returns the first response even if it would be denied now', async () => {
      const key = randomUUID();
      const first = await createWithKey(customer, key);
      hook.decide = () => ({ allow: false, reason: 'No.' });
      const again = await createWithKey(customer, key);
      expect([again.status, again.body]).to.deep.equal([201, first.body]);
      expect(again.headers.get('idempotent-replayed')).to.equal('true');
      expectError(await createWithKey(customer, key, { prompt: 'another' }), 'validation_error', 'Idempotency-Key');
      expect(hook.received).to.have.length(1);
      expect(await customer.balance()).to.equal(1100 - 8);
    });

    it('about a repeated call over MCP', async () => {
      const meta = { idempotencyKey: randomUUID() };
      const first = await callImageTool(customer, {}, meta);
      const again = await callImageTool(customer, {}, meta);
      expect(again.structuredContent.uuid).to.equal(first.structuredContent.uuid);
      expect(hook.received).to.have.length(1);
    });

    it('about invalid requests, prices above max_credits, estimates and reads', async () => {
      expectError(await create(customer, { prompt: '' }), 'validation_error', 'prompt');
      expectError(await create(customer, { params: {} }), 'validation_error', 'params.resolution');
      expectError(await create(customer, { max_credits: 7 }), 'validation_error', 'max_credits');
      expectError(await createWithKey(customer, randomUUID(), { max_credits: 7 }), 'validation_error', 'max_credits');
      const body = { ...IMAGE, prompt: PROMPT };
      expect((await customer.request('POST', '/api/generations/estimate/', { body })).status).to.equal(200);
      expect((await callImageTool(customer, { dry_run: true })).structuredContent.credits).to.equal(8);
      expect((await customer.request('GET', '/api/generations/')).status).to.equal(200);
      expect(hook.received).to.deep.equal([]);
    });

    it('for a caller whose key is revoked, also if this process knows the key', async () => {
      expect((await create(customer)).status).to.equal(201);
      await service.sql('UPDATE api_keys SET revoked_at = now() WHERE key_hash = sha256($1)', [customer.key]);
      const key = randomUUID();
      try {
        expectError(await create(customer), 'invalid_api_key');
        expectError(await createWithKey(customer, key), 'invalid_api_key');
        expect(hook.received).to.have.length(1);
      } finally {
        await service.sql('UPDATE api_keys SET revoked_at = NULL WHERE key_hash = sha256($1)', [customer.key]);
      }
    });

    it('for a suspended account', async () => {
      await service.sql('UPDATE accounts SET suspended_at = now() WHERE email = $1', [customer.email]);
      try {
        expectError(await create(customer), 'account_suspended');
        expect(hook.received).to.deep.equal([]);
      } finally {
        await service.sql('UPDATE accounts SET suspended_at = NULL WHERE email = $1', [customer.email]);
      }
    });
  });

  it('rejects before the checks of subscription, model, slots and balance', async () => {
    const visitor = await service.createCustomer(null);
    hook.decide = () => ({ allow: false, reason: 'No.' });
    expectError(await create(visitor), 'content_rejected');
    hook.decide = () => ({ allow: true });
    expectError(await create(visitor), 'subscription_required');
    await setModelHealth(service, 'imgmodel-2', 'offline');
    try {
      expectError(await create(customer), 'model_unavailable');
    } finally {
      await setAllModelsOnline(service);
    }
  });

  it('concurrent requests with one Idempotency-Key are charged once', async () => {
    const key = randomUUID();
    const responses = await Promise.all(
      Array.from({ length: 8 }, (_, index) => createWithKey(customer.on(service.baseUrls[index % 2] as string), key)),
    );
    expect(countOccurrences(responses.map(({ status }) => status))).to.deep.equal({ 201: 8 });
    expect(new Set(responses.map(({ body }) => body.uuid)).size).to.equal(1);
    expect(await customer.balance()).to.equal(1100 - 8);
  });

  describe('without a decision', () => {
    for (const fault of MODERATION_FAULTS) {
      it(`(${fault}) rejects the create with 503 within the time limit and charges nothing, or accepts it with MODERATION_ON_ERROR=allow`, async () => {
        hook.decide = () => fault;
        const before = await countVerdicts();
        const startedAt = performance.now();
        const response = await create(customer);
        expectUndecided(response);
        expect(response.body.detail).to.include('No generation was created and no credits were charged.');
        expect(performance.now() - startedAt).to.be.below(TIMEOUT_MS + 5_000);
        await expectNothingCharged();
        expect((await countVerdicts())['failed']).to.equal((before['failed'] ?? 0) + 1);
        expect(hook.received.map(({ path }) => path)).not.to.include('/elsewhere');

        const lenient = customer.on(service.baseUrls[1] as string);
        expect((await create(lenient)).status).to.equal(201);
        expect(await customer.balance()).to.equal(1100 - 8);
      });
    }

    it('does not rule out that an earlier request with the same Idempotency-Key was charged', async () => {
      hook.decide = () => 'status 500';
      const response = await createWithKey(customer, randomUUID());
      expectUndecided(response);
      expect(response.body.detail).to.include('an earlier one with the same Idempotency-Key may have');
    });

    it('is a tool error over MCP', async () => {
      hook.decide = () => 'hang';
      const result = await callImageTool(customer);
      expect([result.isError, result.structuredContent.error]).to.deep.equal([true, 'internal_error']);
      await expectNothingCharged();
    });

    it('is what a service that is down means, until it is up again', async () => {
      await hook.stop();
      try {
        expectUndecided(await create(customer));
        expect((await create(customer.on(service.baseUrls[1] as string))).status).to.equal(201);
      } finally {
        await hook.start();
      }
      expect((await create(customer)).status).to.equal(201);
    });

    it('still denies with MODERATION_ON_ERROR=allow when the service decides', async () => {
      hook.decide = () => ({ allow: false, reason: 'No.' });
      expectError(await create(customer.on(service.baseUrls[1] as string)), 'content_rejected', 'No.');
    });
  });

  it('asks again on another connection if the service closes one', async () => {
    let requests = 0;
    hook.decide = () => {
      requests += 1;
      return requests === 1 ? 'reset' : { allow: true };
    };
    expect((await create(customer)).status).to.equal(201);
    expect(hook.received).to.have.length(2);
    expect(await customer.balance()).to.equal(1100 - 8);
  });
});
