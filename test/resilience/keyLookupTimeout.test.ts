import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { createGeneration } from '../../shared/domain/generations/create.ts';
import { db } from '../../shared/lib/database/pool.ts';
import type { TestCustomer } from '../harness/apiClient.ts';
import { setAllModelsOnline } from '../harness/seeds.ts';
import { eventually, type TestService, startTestService } from '../harness/testService.ts';

const INPUT = {
  model: 'imgmodel-2',
  prompt: 'a lighthouse',
  params: { resolution: '1K', aspect_ratio: '1:1' },
} as const;

describe('a lookup of Idempotency-Keys that gets no database connection', () => {
  let service: TestService;
  before(async () => {
    service = await startTestService({ workers: 0, env: { DATABASE_POOL_MAX: '2', DATABASE_TIMEOUT_MS: '4000' } });
    await setAllModelsOnline(service);
  });
  after(() => service.stop());

  it('leaves the outcome of its requests unknown, and those charged with them are accepted', async () => {
    const [rich, visitor] = [await service.createCustomer('lite'), await service.createCustomer(null)];
    const findId = async ({ email }: TestCustomer): Promise<number> =>
      Number((await service.sql('SELECT id FROM accounts WHERE email = $1', [email]))[0].id);
    const [payer, rejected] = [await findId(rich), await findId(visitor)];
    const lock = await service.database.connect();
    await lock.query('BEGIN');
    await lock.query('SELECT FROM accounts WHERE id = $1 FOR NO KEY UPDATE', [payer]);
    const first = await db.transaction();
    // Both requests are in one statement, which waits for the lock on the second connection of the pool.
    const outcomes = Promise.allSettled([
      createGeneration({ accountId: payer, keyHash: null, clientId: null }, INPUT),
      createGeneration({ accountId: rejected, keyHash: null, clientId: null }, INPUT, randomUUID()),
    ]);
    await eventually('the charge waits for the account', async () => (await service.countLockWaits()) > 0);
    // This transaction takes the connection of the charge before the lookup does.
    const second = db.transaction();
    let charged: PromiseSettledResult<unknown>;
    let lookedUp: PromiseSettledResult<unknown>;
    try {
      await lock.query('COMMIT');
      [charged, lookedUp] = await outcomes;
    } finally {
      // The service does not stop while a transaction is open.
      lock.release();
      await Promise.all([first.rollback(), second.then((transaction) => transaction.rollback())]);
    }
    expect(charged.status).to.equal('fulfilled');
    expect(lookedUp)
      .to.have.nested.property('reason.message')
      .that.matches(/outcome of this request is unknown/);
    const rows = await service.sql('SELECT account_id FROM generations');
    expect(rows.map((row) => Number(row.account_id))).to.deep.equal([payer]);
    await service.checkIntegrity();
  });
});
