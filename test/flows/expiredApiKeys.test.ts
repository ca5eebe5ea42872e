import { expect } from 'chai';
import { verifyWebhook } from '../../packages/client/src/index.ts';
import { WebhookReceiver } from '../fakes/webhookReceiver.ts';
import { IMAGE, type TestCustomer } from '../harness/apiClient.ts';
import { runJob } from '../harness/jobs.ts';
import { expectError } from '../harness/errorEnvelope.ts';
import { createRestrictedKey } from '../harness/restrictedKeys.ts';
import { eventually, startTestService, type TestService } from '../harness/testService.ts';
import { createTestEndpoint } from '../harness/webhookFixture.ts';

const HOUR_MS = 3_600_000;
const ACTIVE_KEYS_MAX = 20;

describe('API keys that expire', () => {
  const receiver = new WebhookReceiver();
  let service: TestService;
  let owner: TestCustomer;
  before(async () => {
    service = await startTestService({ env: { WEBHOOK_ADDRESSES: 'any' } });
    await receiver.start();
  });
  beforeEach(async () => {
    owner = await service.createCustomer();
  });
  afterEach(() => service.moveClockTo(new Date()));
  after(async () => {
    await service.stop();
    await receiver.stop();
  });

  const inHours = (hours: number) => new Date(service.now.getTime() + hours * HOUR_MS);
  const createKey = (hours: number) =>
    createRestrictedKey(service, owner, {
      expires_at: inHours(hours).toISOString(),
      scopes: ['svc:read', 'svc:write'],
    });
  const createPlainKey = () => owner.request('POST', '/api/keys/create/', { body: { name: 'one more' } });
  const expireKeys = () => runJob({ service }, 'maintenance', 'apiKeys.expire');
  const listKeys = async (): Promise<any[]> => (await owner.requestWithSession('GET', '/api/keys/')).body.data;

  it('are revoked by the worker with one event and one line of the security log, and the others stay active', async () => {
    const { secret } = await createTestEndpoint(service, owner, `${receiver.url}/keys`);
    const [first, second, later] = [await createKey(1), await createKey(2), await createKey(48)];
    const { body: generation } = await first.customer.createGeneration(IMAGE);
    const ended = await first.customer.waitForEnd(generation.uuid);
    await service.moveClockTo(inHours(3));
    await expireKeys();
    await expireKeys();

    const keys = await listKeys();
    const states = new Map(keys.map(({ uuid, revoked }) => [uuid, revoked]));
    expect([first, second, later].map(({ uuid }) => states.get(uuid))).to.deep.equal([true, true, false]);
    expectError(await first.customer.createGeneration(IMAGE), 'invalid_api_key');
    // Generations of the key remain.
    expect((await later.customer.readGeneration(generation.uuid)).body).to.deep.equal(ended);

    const readRevoked = () =>
      Promise.all(
        receiver
          .at('/keys')
          .filter(({ body }) => body.includes('"key.revoked"'))
          .map(({ body, headers }) =>
            verifyWebhook(body, headers, secret, { toleranceSeconds: 24 * 3_600 }).then((event) => event.data as any),
          ),
      );
    await eventually('both events arrived', async () => (await readRevoked()).length >= 2);
    const revoked = await readRevoked();
    expect(revoked.map(({ uuid }) => uuid)).to.have.members([first.uuid, second.uuid]);
    expect(revoked.find(({ uuid }) => uuid === first.uuid)).to.deep.equal(keys.find(({ uuid }) => uuid === first.uuid));
    const lines = await service.sql(
      `SELECT event FROM security_events WHERE account_id = (SELECT id FROM accounts WHERE email = $1)
        AND event = 'key_revoked'`,
      [owner.email],
    );
    expect(lines).to.have.length(2);
  });

  it('stay active if their expiry is moved before the worker locks the account', async () => {
    const moved = await createKey(1);
    await service.moveClockTo(inHours(2));
    const lock = await service.database.connect();
    try {
      await lock.query('BEGIN');
      await lock.query('SELECT 1 FROM accounts WHERE email = $1 FOR UPDATE', [owner.email]);
      const running = expireKeys();
      await eventually('the worker waits for the account', async () => (await service.countLockWaits()) > 0);
      await lock.query('UPDATE api_keys SET expires_at = $2 WHERE uuid = $1', [moved.uuid, inHours(24)]);
      await lock.query('COMMIT');
      await running;
    } finally {
      lock.release();
    }
    expect((await listKeys()).find(({ uuid }) => uuid === moved.uuid).revoked).to.equal(false);
  });

  it('are revoked although an earlier one fails, which the job reports and the next run revokes', async () => {
    const [failing, other] = [await createKey(1), await createKey(2)];
    await service.moveClockTo(inHours(3));
    await service.sql(
      `CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'damaged row'; END $$;
       CREATE TRIGGER fail BEFORE UPDATE ON api_keys FOR EACH ROW WHEN (NEW.uuid = '${failing.uuid}') EXECUTE FUNCTION fail()`,
    );
    const readStates = async () => {
      const keys = await listKeys();
      return [failing, other].map(({ uuid }) => keys.find((key) => key.uuid === uuid).revoked);
    };
    expect(await expireKeys().catch(String)).to.include('damaged row');
    expect(await readStates()).to.deep.equal([false, true]);
    await service.sql('DROP TRIGGER fail ON api_keys');
    await expireKeys();
    expect(await readStates()).to.deep.equal([true, true]);
  });

  it('no longer count toward the active keys of the account', async () => {
    for (let count = 1; count < ACTIVE_KEYS_MAX; count += 1) await createKey(1);
    expectError(await createPlainKey(), 'validation_error');
    await service.moveClockTo(inHours(2));
    await expireKeys();
    expect((await createPlainKey()).status).to.equal(201);
  });
});
