import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { expectError } from '../harness/errorEnvelope.ts';
import { addTopupCredits, seedImages } from '../harness/seeds.ts';
import { eventually, useTestService } from '../harness/testService.ts';

const CSV = { accept: 'text/csv' };
const LOCK = 'BEGIN; LOCK TABLE ledger_entries IN ACCESS EXCLUSIVE MODE';

describe('a download of a ledger', () => {
  const service = useTestService({ workers: 0, env: { DATABASE_TIMEOUT_MS: '30000' } });

  it('is one at a time for each account, and stops at the next batch once the client has left', async () => {
    const customer = await service.createCustomer('pro');
    await addTopupCredits(service, customer, 3_000);
    await seedImages(service, customer, 2_998);
    // No entry matches, so that nothing is sent that could fail.
    const path = '/api/ledger/?created_after=2100-01-01';
    const [first, second] = await Promise.all([service.database.connect(), service.database.connect()]);
    try {
      await first.query(LOCK);
      const client = new AbortController();
      const headers = { ...CSV, authorization: `Bearer ${customer.key}` };
      const left = fetch(service.baseUrl + path, { headers, signal: client.signal }).then((answer) => answer.text());
      const failed = left.catch((error: Error) => error.name);
      await eventually('the first batch waits', async () => (await service.countLockWaits()) === 1);
      const refused = await customer.request('GET', path, { headers: CSV });
      expectError(refused, 'rate_limited');
      expect(refused.headers.get('retry-after')).to.equal('1');
      client.abort();
      expect(await failed).to.equal('AbortError');
      // Gets the lock between the first batch and the next.
      const relocked = second.query(LOCK);
      await eventually('the second lock waits', async () => (await service.countLockWaits()) === 2);
      await first.query('ROLLBACK');
      await relocked;
      await sleep(200);
      expect(await service.countLockWaits()).to.equal(0);
      await second.query('ROLLBACK');
    } finally {
      first.release(true);
      second.release(true);
    }
    await eventually('the next download is accepted', async () => {
      return (await customer.request('GET', path, { headers: CSV })).status === 200;
    });
    const whole = await customer.request('GET', '/api/ledger/', { headers: CSV });
    expect(String(whole.body).split('\r\n')).to.have.length(1 + 3_000 + 1);
  });
});
