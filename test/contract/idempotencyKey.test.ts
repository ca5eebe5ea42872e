import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import type { ApiResponse, TestCustomer } from '../harness/apiClient.ts';
import { eventually, useTestService } from '../harness/testService.ts';
import { expectError, countOccurrences } from '../harness/errorEnvelope.ts';
import {
  CHECKOUT,
  getReplayHeader,
  hasWaitingRequests,
  IDEMPOTENT_ENDPOINTS,
  KEYS,
  sendWithKey,
  sha256,
  TOPUP,
} from '../harness/idempotentEndpoints.ts';
import { scaleTimeout } from '../harness/scaleTimeout.ts';
import { setAllModelsOnline } from '../harness/seeds.ts';

describe('an Idempotency-Key', () => {
  const service = useTestService({ apis: 2, workers: 0 });
  before(() => setAllModelsOnline(service));

  const findAccountId = async ({ email }: TestCustomer) =>
    (await service.sql('SELECT id FROM accounts WHERE email = $1', [email]))[0].id as number;

  /** Inserts the row of a process that started to create a key two minutes ago, and stopped before it had an effect. */
  async function insertStartedRequest(customer: TestCustomer, key: string): Promise<void> {
    const compared = { member: 1, sent: KEYS.body };
    await service.sql(
      `INSERT INTO idempotent_requests (account_id, scope, key_hash, id, request_hash, created_at)
       VALUES ($1, 'createApiKey', $2, $3, $4, now() - interval '2 minutes')`,
      [await findAccountId(customer), sha256(key), randomUUID(), sha256(JSON.stringify(compared))],
    );
  }

  /** Runs `work` while the account row is locked, so that all changes to it wait. */
  async function whileLocked<Result>({ email }: TestCustomer, work: () => Promise<Result>): Promise<Result> {
    const connection = await service.database.connect();
    try {
      await connection.query('BEGIN');
      await connection.query('SELECT 1 FROM accounts WHERE email = $1 FOR NO KEY UPDATE', [email]);
      return await work();
    } finally {
      await connection.query('ROLLBACK');
      connection.release();
    }
  }

  for (const endpoint of IDEMPOTENT_ENDPOINTS) {
    const { path, status, body, other, plan, effects } = endpoint;
    describe(`on ${path}`, () => {
      let customer: TestCustomer;
      let key: string;
      beforeEach(async () => {
        customer = await service.createCustomer(plan);
        key = randomUUID();
      });

      it('returns the first response again and takes effect once', async () => {
        const first = await sendWithKey(customer, endpoint, key, body);
        const again = await sendWithKey(customer.on(service.baseUrls[1] as string), endpoint, key, body);
        const late = await customer.requestWithSession('POST', path, {
          body,
          headers: { 'idempotency-key': `  ${key} ` },
        });
        expect([first.status, again.status, late.status]).to.deep.equal([status, status, status]);
        expect(again.body).to.deep.equal(first.body);
        expect(late.body).to.deep.equal(first.body);
        expect([first, again, late].map(getReplayHeader)).to.deep.equal([null, 'true', 'true']);
        expect(await effects(service, customer)).to.equal(1);
      });

      it('treats a body with the same meaning as the same request', async () => {
        await sendWithKey(customer, endpoint, key, body);
        const spaced = JSON.stringify(body, null, 3).replace('5000', '5e3').replace('"robot"', '" robot "');
        const again = await customer.request('POST', path, { rawBody: spaced, headers: { 'idempotency-key': key } });
        expect([again.status, getReplayHeader(again)]).to.deep.equal([status, 'true']);
      });

      it('returns 400 validation_error for another body', async () => {
        const first = await sendWithKey(customer, endpoint, key, body);
        expectError(await sendWithKey(customer, endpoint, key, other), 'validation_error', 'Idempotency-Key');
        expect((await sendWithKey(customer, endpoint, key, body)).body).to.deep.equal(first.body);
        expect(await effects(service, customer)).to.equal(1);
      });

      it('takes effect once for 30 simultaneous requests to two API processes', async () => {
        const answers = await Promise.all(
          Array.from({ length: 30 }, (_, index) =>
            sendWithKey(customer.on(service.baseUrls[index % 2] as string), endpoint, key, body),
          ),
        );
        expect(answers.map((answer) => answer.status)).to.deep.equal(Array(30).fill(status));
        for (const answer of answers) expect(answer.body).to.deep.equal(answers[0]?.body);
        expect(countOccurrences(answers.map((answer) => String(getReplayHeader(answer))))).to.deep.equal({
          null: 1,
          true: 29,
        });
        expect(await effects(service, customer)).to.equal(1);
      });
    });
  }

  describe('on an endpoint', () => {
    let customer: TestCustomer;
    let key: string;
    beforeEach(async () => {
      customer = await service.createCustomer(null);
      key = randomUUID();
    });
    const send = (api = 0) => sendWithKey(customer.on(service.baseUrls[api] as string), KEYS, key, KEYS.body);

    it('is not shared between accounts', async () => {
      const stranger = await service.createCustomer(null);
      await send();
      const theirs = await sendWithKey(stranger, KEYS, key, KEYS.body);
      expect([theirs.status, getReplayHeader(theirs)]).to.deep.equal([201, null]);
      expect(await KEYS.effects(service, stranger)).to.equal(1);
    });

    it('must have 1 to 255 characters of ASCII without control characters', async () => {
      for (const malformed of ['', '   ', 'k'.repeat(256), 'schlüssel', 'a\tb'])
        expectError(await sendWithKey(customer, KEYS, malformed, KEYS.body), 'validation_error', 'Idempotency-Key');
      expect(await KEYS.effects(service, customer)).to.equal(0);
      key = `${key} ~!"`.padEnd(255, '.');
      expect([await send(), await send()].map(getReplayHeader)).to.deep.equal([null, 'true']);
    });

    it('makes concurrent requests wait for the one in progress', async () => {
      let answered = 0;
      const asked = await whileLocked(customer, async () => {
        const all = [0, 1, 0].map((api) => send(api).finally(() => (answered += 1)));
        await eventually('one request waits for the lock, and another polls for its response', () =>
          hasWaitingRequests(service),
        );
        expect(answered).to.equal(0);
        return all;
      });
      await expectOneEffect(await Promise.all(asked));
    });

    it('of a crashed process is taken over by exactly one request, and still returns 400 for another body', async () => {
      await insertStartedRequest(customer, key);
      expectError(await sendWithKey(customer, KEYS, key, KEYS.other), 'validation_error', 'Idempotency-Key');
      await expectOneEffect(await Promise.all([0, 1, 0, 1, 0, 1].map(send)));
    });

    async function expectOneEffect(answers: ApiResponse[]): Promise<void> {
      expect(answers.map(({ status }) => status)).to.deep.equal(answers.map(() => 201));
      expect(answers.map(getReplayHeader).filter((header) => header === null)).to.have.length(1);
      for (const { body } of answers) expect(body).to.deep.equal(answers[0]?.body);
      expect(await KEYS.effects(service, customer)).to.equal(1);
    }
  });

  it('can be used once at each endpoint', async () => {
    const customer = await service.createCustomer(null);
    const key = randomUUID();
    for (const endpoint of [CHECKOUT, TOPUP, KEYS]) {
      const answer = await sendWithKey(customer, endpoint, key, endpoint.body);
      expect([answer.status, getReplayHeader(answer)], endpoint.path).to.deep.equal([endpoint.status, null]);
      expect(getReplayHeader(await sendWithKey(customer, endpoint, key, endpoint.body))).to.equal('true');
    }
  });

  it('returns a created API key again with its text, which is not stored in plain', async () => {
    const customer = await service.createCustomer(null);
    const idempotencyKey = `orders/${randomUUID()}`;
    const { body } = await sendWithKey(customer, KEYS, idempotencyKey, { name: 'robot of secrets' });
    expect(body.key).to.match(/^svc_[0-9a-f]{40}$/);
    const again = await sendWithKey(customer, KEYS, idempotencyKey, { name: 'robot of secrets' });
    expect([again.body, getReplayHeader(again)]).to.deep.equal([body, 'true']);
    expect((await customer.on(service.baseUrl).request('GET', '/api/keys/')).body.pagination.total_items).to.equal(2);
    const secrets = [body.key, body.key.slice(4), idempotencyKey, idempotencyKey.slice(7), 'robot of secrets'];
    const rows = await service.sql('SELECT * FROM idempotent_requests WHERE account_id = $1', [
      await findAccountId(customer),
    ]);
    expect(rows).to.have.length(1);
    for (const value of Object.values(rows[0])) {
      const bytes = Buffer.isBuffer(value) ? value : Buffer.from(JSON.stringify(value));
      for (const secret of [...secrets, Buffer.from(body.key.slice(4), 'hex')]) {
        expect(bytes.includes(secret), String(secret)).to.equal(false);
      }
    }
    expect(rows[0].key_hash).to.deep.equal(sha256(idempotencyKey));
    for (const api of service.apis) for (const secret of secrets) expect(api.logs()).to.not.include(secret);
  });

  it('does not store rejections: a failed request can be retried', async () => {
    const customer = await service.createCustomer(null);
    const key = randomUUID();
    expectError(await sendWithKey(customer, TOPUP, key, TOPUP.body), 'subscription_required');
    expectError(await sendWithKey(customer, TOPUP, key, { amount_cents: 1 }), 'validation_error', 'amount_cents');
    await sendWithKey(customer, CHECKOUT, key, CHECKOUT.body);
    const answer = await sendWithKey(customer, TOPUP, key, TOPUP.body);
    expect([answer.status, getReplayHeader(answer)]).to.deep.equal([200, null]);
  });

  it('can be used for another request after a rejection', async () => {
    const customer = await service.createCustomer('pro');
    const key = randomUUID();
    expectError(await sendWithKey(customer, CHECKOUT, key, { plan: 'pro' }), 'validation_error', 'plan');
    expect((await sendWithKey(customer, CHECKOUT, key, { plan: 'studio' })).status).to.equal(200);
  });

  it('returns the same rejection for 8 simultaneous requests to two API processes', async () => {
    const customer = await service.createCustomer(null);
    const key = randomUUID();
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, index) =>
        sendWithKey(customer.on(service.baseUrls[index % 2] as string), TOPUP, key, TOPUP.body),
      ),
    );
    for (const answer of answers) expectError(answer, 'subscription_required');
    expect(answers.map(getReplayHeader)).to.deep.equal(Array(8).fill(null));
  });

  it('prevents a second effect when the first response could not be stored', async () => {
    const customer = await service.createCustomer('lite');
    const key = randomUUID();
    await service.sql(`
      CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'refused'; END $$;
      CREATE TRIGGER refuse BEFORE UPDATE OF response ON idempotent_requests FOR EACH ROW EXECUTE FUNCTION refuse()`);
    try {
      expect((await sendWithKey(customer, TOPUP, key, TOPUP.body)).status).to.equal(500);
    } finally {
      await service.sql('DROP TRIGGER refuse ON idempotent_requests; DROP FUNCTION refuse');
    }
    expect((await sendWithKey(customer, TOPUP, key, TOPUP.body)).status).to.equal(200);
    expect(await TOPUP.effects(service, customer)).to.equal(1);
  });

  it('survives a killed process: nothing is done twice, repetitions do not hang, and one takes the request over', async () => {
    const api = await service.startApi();
    const customer = await service.createCustomer(null);
    const key = randomUUID();
    await whileLocked(customer, async () => {
      const lost = sendWithKey(customer.on(api.baseUrl), KEYS, key, KEYS.body).catch(() => 'lost');
      await eventually('the request is at work', async () => (await service.countLockWaits()) > 0);
      await api.kill();
      expect(await lost).to.equal('lost');
    });
    service.apis.pop();
    const sentAt = performance.now();
    const waiting = await sendWithKey(customer, KEYS, key, KEYS.body);
    expect([waiting.status, waiting.body.error]).to.deep.equal([503, 'internal_error']);
    expect(performance.now() - sentAt).to.be.below(scaleTimeout(5_000));
    expect(waiting.headers.get('retry-after')).to.match(/^[1-9]\d*$/);
    expect(await KEYS.effects(service, customer)).to.equal(0);
    await service.sql(
      `UPDATE idempotent_requests SET created_at = created_at - interval '2 minutes' WHERE account_id = $1`,
      [await findAccountId(customer)],
    );
    const answer = await sendWithKey(customer, KEYS, key, KEYS.body);
    expect([answer.status, getReplayHeader(answer)]).to.deep.equal([201, null]);
    expect((await sendWithKey(customer, KEYS, key, KEYS.body)).body).to.deep.equal(answer.body);
    expect(await KEYS.effects(service, customer)).to.equal(1);
  });
});
