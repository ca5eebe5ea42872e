import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { eventually, useTestService } from '../harness/testService.ts';

describe('searches by metadata', () => {
  const service = useTestService({ workers: 0, env: { DATABASE_TIMEOUT_MS: '30000' } });

  it('of one account run one at a time, so that slow ones leave the connections to others', async () => {
    const [customer, other] = await Promise.all([service.createCustomer('pro'), service.createCustomer('pro')]);
    const path = '/api/generations/?metadata[job]=a';
    const lock = await service.database.connect();
    try {
      await lock.query('BEGIN; LOCK TABLE generations IN ACCESS EXCLUSIVE MODE');
      const searches = Array.from({ length: 5 }, () => customer.request('GET', path));
      await eventually('a search waits', async () => (await service.countLockWaits()) === 1);
      await sleep(200);
      expect(await service.countLockWaits()).to.equal(1);
      const foreign = other.request('GET', path);
      await eventually('that of another account waits as well', async () => (await service.countLockWaits()) === 2);
      await lock.query('ROLLBACK');
      const answers = await Promise.all([...searches, foreign]);
      expect(answers.map(({ status }) => status)).to.deep.equal(Array(6).fill(200));
    } finally {
      lock.release(true);
    }
  });
});
