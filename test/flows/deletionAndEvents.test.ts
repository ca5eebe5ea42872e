import { expect } from 'chai';
import { eraseAccount } from '../../shared/domain/privacy/erase.ts';
import { failGeneration } from '../../shared/domain/generations/execution/completeOrFail.ts';
import { checkModelHealth } from '../../shared/domain/generations/execution/healthCheck.ts';
import { DAY_MS } from '../../shared/spec/durations.ts';
import { type TestCustomer, IMAGE } from '../harness/apiClient.ts';
import {
  addEndpoint,
  createEndedGeneration,
  createQueuedGeneration,
  getAccountId,
  readDeliveries,
  readEvents,
} from '../harness/outbox.ts';
import { pruneTable } from '../harness/pruneTable.ts';
import { useTestService } from '../harness/testService.ts';
import { dispatchEvents } from '../harness/tasks.ts';

describe('events that are not dispatched before a deletion', () => {
  const service = useTestService({ workers: 0 });
  let customer: TestCustomer;
  before(async () => {
    // Creates require a model that was probed.
    await checkModelHealth();
  });
  beforeEach(async () => {
    customer = await service.createCustomer();
  });

  /** Purges deleted generations as a worker does a month later. */
  const purgeMonthLater = async () => {
    await service.moveClockTo(new Date(service.now.getTime() + 31 * DAY_MS));
    await pruneTable('generations');
    await service.moveClockTo(new Date());
  };
  const readPurged = (uuids: string[]) =>
    service.sql(
      'SELECT prompt, webhook_url, error_message, purged_at IS NOT NULL AS is_purged FROM generations WHERE uuid = ANY ($1) ORDER BY number',
      [uuids],
    );

  it('sends a generation that was deleted meanwhile without the addresses of its files', async () => {
    await addEndpoint(service, customer);
    const uuid = await createEndedGeneration(service, customer);
    await customer.request('DELETE', `/api/generations/${uuid}/`);
    await dispatchEvents();
    const [event] = await readEvents(service, customer);
    expect(JSON.parse(event?.body as string).data).to.include({
      uuid,
      status: 'succeeded',
      output_url: null,
      thumbnail_url: null,
    });
  });

  it('purges a deleted generation only after its event was dispatched with its data', async () => {
    await addEndpoint(service, customer);
    const webhookUrl = 'https://receiver.invalid/purged';
    const succeeded = await createEndedGeneration(service, customer, { webhook_url: webhookUrl });
    const failed = await createQueuedGeneration(customer, { webhook_url: webhookUrl });
    await failGeneration({
      uuid: failed,
      account_id: await getAccountId(service, customer),
      message: 'The upstream has rejected the prompt.',
    });
    for (const uuid of [succeeded, failed]) await customer.request('DELETE', `/api/generations/${uuid}/`);
    await purgeMonthLater();
    await dispatchEvents();
    const bodies = (await readEvents(service, customer)).map(({ body }) => JSON.parse(body as string).data);
    expect(bodies.map(({ uuid }) => uuid)).to.deep.equal([succeeded, failed]);
    for (const data of bodies) {
      expect(data.prompt).to.equal('a lighthouse');
      expect(data.params).to.include(IMAGE.params);
    }
    expect(bodies[1].error_message).to.equal('The upstream has rejected the prompt.');
    const urls = (await readDeliveries(service, customer)).map(({ subject, url }) => `${subject} ${url}`);
    expect(urls).to.have.members([succeeded, failed].flatMap((uuid) => [`${uuid} ${webhookUrl}`, `${uuid} null`]));

    await purgeMonthLater();
    expect(await readPurged([succeeded, failed])).to.deep.equal([
      { prompt: '', webhook_url: null, error_message: null, is_purged: true },
      { prompt: '', webhook_url: null, error_message: '', is_purged: true },
    ]);
  });

  it('sends nothing about an account that is erased, before its events are dispatched or meanwhile', async () => {
    for (const isMeanwhile of [false, true]) {
      customer = await service.createCustomer();
      const accountId = await getAccountId(service, customer);
      await addEndpoint(service, customer);
      await createEndedGeneration(service, customer, { webhook_url: 'https://receiver.invalid/erased' });
      await service.sql(
        `INSERT INTO outbox_events (account_id, type, subject, created_at)
         SELECT $1, 'credits.low', gen_random_uuid(), now() - interval '1 second' FROM generate_series(1, 300)`,
        [accountId],
      );
      await Promise.all([eraseAccount(accountId), isMeanwhile ? dispatchEvents() : null]);
      await dispatchEvents();
      for (const table of ['outbox_events', 'webhook_endpoints', 'emails'])
        expect(await service.sql(`SELECT * FROM ${table} WHERE account_id = $1`, [accountId]), table).to.deep.equal([]);
    }
  });
});
