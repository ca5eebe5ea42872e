import { expect } from 'chai';
import type { TestCustomer } from '../harness/apiClient.ts';
import { addEndpoint, getAccountId, readDeliveries } from '../harness/outbox.ts';
import { eventually, startTestService, type TestService } from '../harness/testService.ts';
import { dispatchEvents } from '../harness/tasks.ts';

describe('the dispatch of an event to an endpoint that a worker serves', () => {
  let service: TestService;
  let customer: TestCustomer;
  let accountId: number;
  before(async () => {
    service = await startTestService({ workers: 0 });
  });
  /** Leases an endpoint, and records an event that it receives. */
  beforeEach(async () => {
    customer = await service.createCustomer();
    accountId = await getAccountId(service, customer);
    await addEndpoint(service, customer, ['subscription.updated']);
    await service.sql(
      `UPDATE webhook_endpoints
          SET leased_until = now() + interval '30 s', lease_token = gen_random_uuid(), next_delivery_at = now() + interval '30 s'
        WHERE account_id = $1`,
      [accountId],
    );
    await service.sql(
      `INSERT INTO outbox_events (account_id, type, subject, details, created_at)
       VALUES ($1, 'subscription.updated', gen_random_uuid(), $2, now() - interval '1 second')`,
      [
        accountId,
        {
          plan_slug: null,
          status: 'none',
          current_period_end: null,
          cancel_at_period_end: false,
          has_payment_method: false,
        },
      ],
    );
  });
  after(() => service.stop());

  const readEndpoint = async () =>
    (
      await service.sql('SELECT next_delivery_at, leased_until FROM webhook_endpoints WHERE account_id = $1', [
        accountId,
      ])
    )[0];

  it('makes it due if the worker releases it while the dispatch waits', async () => {
    const releasing = await service.database.connect();
    await releasing.query('BEGIN');
    await releasing.query(
      'UPDATE webhook_endpoints SET leased_until = NULL, lease_token = NULL, next_delivery_at = NULL WHERE account_id = $1',
      [accountId],
    );
    const dispatching = dispatchEvents();
    await eventually('the dispatch waits', async () => (await service.countLockWaits()) === 1);
    await releasing.query('COMMIT');
    releasing.release();
    await dispatching;
    expect((await readEndpoint()).next_delivery_at).to.be.an.instanceOf(Date);
  });

  it('leaves it due at the end of the lease', async () => {
    await dispatchEvents();
    expect(await readDeliveries(service, customer)).to.have.length(1);
    const { next_delivery_at: next, leased_until: until } = await readEndpoint();
    expect(next).to.deep.equal(until);
  });
});
