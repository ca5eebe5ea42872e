import { expect } from 'chai';
import { WebhookReceiver } from '../fakes/webhookReceiver.ts';
import type { TestCustomer } from '../harness/apiClient.ts';
import { getAccountId } from '../harness/outbox.ts';
import { dispatchEvents } from '../harness/tasks.ts';
import { eventually, startTestService, type TestService } from '../harness/testService.ts';
import {
  createTestEndpoint,
  deliverDue,
  insertDeliveries,
  readDeliveries,
  readEndpoint,
  type TestEndpoint,
} from '../harness/webhookFixture.ts';

describe('the dispatch of an event to an endpoint with an attempt in flight', () => {
  let service: TestService;
  let receiver: WebhookReceiver;
  let customer: TestCustomer;
  let endpoint: TestEndpoint;
  const leasedUntil = () => new Date(service.now.getTime() + 20_000);
  before(async () => {
    receiver = await new WebhookReceiver().start();
    service = await startTestService({ workers: 0, env: { WEBHOOK_ADDRESSES: 'any' } });
  });
  /** Leases a delivery to another worker, and records an event that its endpoint receives. */
  beforeEach(async () => {
    customer = await service.createCustomer();
    endpoint = await createTestEndpoint(service, customer, `${receiver.url}/${customer.email}`);
    await insertDeliveries(service, endpoint.id);
    const lease = [endpoint.id, leasedUntil()];
    await service.sql(
      'UPDATE webhook_deliveries SET leased_by = gen_random_uuid(), leased_until = $2 WHERE endpoint_id = $1',
      lease,
    );
    await service.sql('UPDATE webhook_endpoints SET next_delivery_at = $2 WHERE id = $1', lease);
    await service.sql(
      `INSERT INTO outbox_events (account_id, type, subject, details, created_at)
       VALUES ($1, 'subscription.updated', gen_random_uuid(), $2, now() - interval '1 second')`,
      [
        await getAccountId(service, customer),
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
  after(async () => {
    await service.stop();
    await receiver.stop();
  });

  it('makes it due if the attempt is recorded while the dispatch waits', async () => {
    const recording = await service.database.connect();
    await recording.query('BEGIN');
    await recording.query('SELECT FROM webhook_endpoints WHERE id = $1 FOR NO KEY UPDATE', [endpoint.id]);
    await recording.query('DELETE FROM webhook_deliveries WHERE endpoint_id = $1', [endpoint.id]);
    await recording.query('UPDATE webhook_endpoints SET next_delivery_at = NULL WHERE id = $1', [endpoint.id]);
    const dispatching = dispatchEvents();
    await eventually('the dispatch waits', async () => (await service.countLockWaits()) === 1);
    await recording.query('COMMIT');
    recording.release();
    await dispatching;
    expect((await readEndpoint(service, endpoint.id)).next_delivery_at).to.be.an.instanceOf(Date);
    await deliverDue();
    expect((await readDeliveries(service, endpoint.id)).map(({ status }) => status)).to.deep.equal(['succeeded']);
  });

  it('starts no attempt beside it while the endpoint fails', async () => {
    await service.sql('UPDATE webhook_endpoints SET failing_since = $2 WHERE id = $1', [endpoint.id, service.now]);
    await dispatchEvents();
    await deliverDue();
    const deliveries = await readDeliveries(service, endpoint.id);
    expect(deliveries.map(({ status, attempts }) => [status, attempts])).to.deep.equal([
      ['pending', 0],
      ['pending', 0],
    ]);
    // Due again when the other worker has not recorded the outcome by then.
    const [leased] = deliveries;
    expect((await readEndpoint(service, endpoint.id)).next_delivery_at).to.deep.equal(leased!.leased_until);
    await service.moveClockTo(leased!.leased_until as Date);
    await deliverDue();
    expect(receiver.peaks.get(new URL(endpoint.url).pathname)).to.equal(1);
    expect((await readDeliveries(service, endpoint.id)).map(({ status }) => status)).to.deep.equal([
      'succeeded',
      'succeeded',
    ]);
  });
});
