import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import type { TestCustomer } from '../harness/apiClient.ts';
import { runJob } from '../harness/jobs.ts';
import { waitForLockWaits, whileAccountIsLocked } from '../harness/lockedAccount.ts';
import { getAccountId } from '../harness/outbox.ts';
import { eventually, useTestService } from '../harness/testService.ts';

const ORDER = { model: 'imgmodel-2', prompt: 'a lighthouse', params: { resolution: '1K' } };

describe('a create with an Idempotency-Key', () => {
  const service = useTestService({ apis: 2 });
  let customer: TestCustomer;
  before(async () => {
    service.upstream.outcome = 'wait';
  });
  beforeEach(async () => {
    customer = await service.createCustomer('studio');
  });

  const create = (key: string, body: object = ORDER, who = customer) =>
    who.request('POST', '/api/generations/create/', { body, headers: { 'idempotency-key': key } });

  it('returns the first response again when the generation has ended and when it was deleted', async () => {
    const [key, order] = [randomUUID(), { ...ORDER, prompt: 'soon done' }];
    const first = await create(key, order);
    await eventually('submitted', () => service.upstream.jobsFor('soon done').length === 1);
    service.upstream.end('soon done', 'succeeded');
    expect((await customer.waitForEnd(first.body.uuid)).status).to.equal('succeeded');
    expect((await create(key, order)).body).to.deep.equal(first.body);
    await customer.request('DELETE', `/api/generations/${first.body.uuid}/`);
    expect((await create(key, order)).body).to.deep.equal(first.body);
  });

  it('treats a request with the same meaning as the same request', async () => {
    const key = randomUUID();
    const first = await create(key);
    const params = { aspect_ratio: '1:1', resolution: '1K' };
    const spelledOut = { params, prompt: ' a lighthouse ', model: 'imgmodel-2' };
    expect((await create(key, spelledOut)).body.uuid).to.equal(first.body.uuid);
  });

  it('is not rejected because of the slot that the first request with its key has taken', async () => {
    await service.sql('UPDATE accounts SET parallel_limit = 1 WHERE email = $1', [customer.email]);
    const key = randomUUID();
    const { responses } = await whileAccountIsLocked(service, await getAccountId(service, customer), async () => {
      const sent = Promise.all(service.baseUrls.map((baseUrl) => create(key, ORDER, customer.on(baseUrl))));
      await waitForLockWaits(service, 2);
      return { responses: sent };
    });
    expect((await responses).map(({ status }) => status)).to.deep.equal([201, 201]);
    expect(new Set((await responses).map(({ body }) => body.uuid)).size).to.equal(1);
    await service.sql('UPDATE accounts SET parallel_limit = 8 WHERE email = $1', [customer.email]);
  });

  it('expires after a day', async () => {
    const key = randomUUID();
    const first = await create(key);
    const age = (hours: number) =>
      service.sql('UPDATE generations SET created_at = created_at - make_interval(hours => $2) WHERE uuid = $1', [
        first.body.uuid,
        hours,
      ]);
    await age(25);
    await runJob({ service }, 'maintenance', 'rows.prune');
    await age(-25);
    const second = await create(key);
    expect(second.status).to.equal(201);
    expect(second.body.uuid).to.not.equal(first.body.uuid);
  });
});
