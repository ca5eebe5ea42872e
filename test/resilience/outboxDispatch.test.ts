import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { checkModelHealth } from '../../shared/domain/generations/execution/healthCheck.ts';
import { buildServiceCaller } from '../../shared/domain/accounts/caller.ts';
import { updateEndpoint } from '../../shared/domain/webhooks/endpoints.ts';
import type { TestCustomer } from '../harness/apiClient.ts';
import { withQueue } from '../harness/jobs.ts';
import {
  addEndpoint,
  createEndedGeneration,
  getAccountId,
  readDeliveries,
  readEmailKinds,
  readEvents,
} from '../harness/outbox.ts';
import { pruneTable } from '../harness/pruneTable.ts';
import { eventually, useTestService } from '../harness/testService.ts';
import { dispatchEvents, makeTasksDue, readTasks } from '../harness/tasks.ts';

const STATUS = {
  plan_slug: null,
  status: 'none',
  current_period_end: null,
  cancel_at_period_end: false,
  has_payment_method: false,
};

describe('the dispatch of events', () => {
  const service = useTestService({
    workers: 0,
    env: { SMTP_URL: 'smtp://127.0.0.1:9', MAIL_FROM: 'genmeter <mail@example.com>' },
  });
  let customer: TestCustomer;
  before(async () => {
    // Creates require a model that was probed.
    await checkModelHealth();
  });
  beforeEach(async () => {
    customer = await service.createCustomer();
    // Events of the sign-in and the key.
    const id = await getAccountId(service, customer);
    await service.sql('DELETE FROM outbox_events WHERE account_id = $1', [id]);
    await service.sql('DELETE FROM emails WHERE account_id = $1', [id]);
  });

  const insertEvents = async (type: string, count: number, subject = 'gen_random_uuid()', details: object = STATUS) =>
    service.sql(
      `INSERT INTO outbox_events (account_id, type, subject, details, created_at)
       SELECT $1, $2, ${subject}, $3, now() - interval '1 second' FROM generate_series(1, $4)`,
      [await getAccountId(service, customer), type, details, count],
    );
  const endGeneration = (options: object = {}) => createEndedGeneration(service, customer, options);

  it('creates each delivery once with several workers at the same time', async () => {
    await addEndpoint(service, customer);
    await addEndpoint(service, customer, ['subscription.updated']);
    await addEndpoint(service, customer, ['generation.succeeded']);
    await insertEvents('subscription.updated', 1_000);
    const workers = await Promise.all([service.startWorker(), service.startWorker()]);
    await dispatchEvents();
    await eventually('all are dispatched', async () =>
      (await readEvents(service, customer)).every(({ dispatched_at: at }) => at !== null),
    );
    await Promise.all(workers.map((worker) => worker.stop()));
    expect(await readDeliveries(service, customer)).to.have.length(2_000);
  });

  it('does not wait for events whose data cannot be built, and retries those with back-off', async () => {
    await addEndpoint(service, customer);
    const missing = randomUUID();
    await insertEvents('generation.succeeded', 1, `'${missing}'`);
    await insertEvents('key.created', 1, `'not a uuid'`);
    await insertEvents('subscription.updated', 3);
    await dispatchEvents();
    const events = await readEvents(service, customer);
    const stuck = events.filter(({ dispatched_at: at }) => at === null);
    expect(stuck.map(({ subject }) => subject)).to.deep.equal([missing, 'not a uuid']);
    const tasks = await readTasks(service, 'event.dispatch');
    expect(tasks.map(({ key }) => key)).to.deep.equal(stuck.map(({ id }) => String(id)));
    for (const { attempts, run_at: at, last_error: error } of tasks) {
      expect(attempts).to.equal(1);
      expect((at as Date).getTime()).to.be.above(service.now.getTime());
      expect(error).to.be.a('string').and.not.to.equal('');
    }
    expect(await readDeliveries(service, customer)).to.have.length(3);
    await dispatchEvents();
    expect(await readTasks(service, 'event.dispatch')).to.deep.equal(tasks);
    await service.sql('DELETE FROM outbox_events WHERE dispatched_at IS NULL');
    await makeTasksDue(service, 'event.dispatch');
    await dispatchEvents();
    expect(await readTasks(service, 'event.dispatch')).to.deep.equal([]);
  });

  it('sends the end of a generation to its webhook_url with the default endpoint', async () => {
    const uuid = await endGeneration({ webhook_url: 'https://receiver.invalid/one' });
    const silent = await endGeneration();
    // Its subject is the generation, too.
    await insertEvents('credits.low', 1, `'${uuid}'`, { balance: 1, threshold: 2 });
    await dispatchEvents();
    const [delivery, ...others] = await readDeliveries(service, customer);
    expect(others).to.deep.equal([]);
    expect(delivery).to.include({ subject: uuid, url: 'https://receiver.invalid/one', endpoint_url: null });
    expect((await readEvents(service, customer)).map(({ subject }) => subject)).to.not.include(silent);
    const [endpoint] = await service.sql('SELECT next_delivery_at FROM webhook_endpoints WHERE id = $1', [
      delivery.endpoint_id,
    ]);
    expect(endpoint.next_delivery_at).to.be.an.instanceOf(Date);
  });

  it('stores no body of an event that no enabled endpoint receives', async () => {
    const uuid = await addEndpoint(service, customer, ['credits.low']);
    await insertEvents('subscription.updated', 1);
    await dispatchEvents();
    await updateEndpoint(buildServiceCaller(await getAccountId(service, customer)), uuid, {
      events: null,
      enabled: false,
    });
    await insertEvents('subscription.updated', 1);
    await dispatchEvents();
    const events = await readEvents(service, customer);
    expect(events.map(({ body, dispatched_at: at }) => [body, at !== null])).to.deep.equal([
      [null, true],
      [null, true],
    ]);
    expect(await readDeliveries(service, customer)).to.deep.equal([]);
  });

  it('sends an endpoint no event that was recorded before it was created or enabled again', async () => {
    const caller = buildServiceCaller(await getAccountId(service, customer));
    await insertEvents('subscription.updated', 1);
    const uuid = await addEndpoint(service, customer);
    await dispatchEvents();
    expect(await readDeliveries(service, customer)).to.deep.equal([]);

    await updateEndpoint(caller, uuid, { enabled: false });
    await insertEvents('subscription.updated', 1);
    await updateEndpoint(caller, uuid, { enabled: true });
    await dispatchEvents();
    expect(await readDeliveries(service, customer)).to.deep.equal([]);

    await insertEvents('subscription.updated', 1);
    await dispatchEvents();
    const [latest] = (await readEvents(service, customer)).slice(-1);
    expect((await readDeliveries(service, customer)).map(({ event_id: id }) => id)).to.deep.equal([latest!.id]);
  });

  it('sends no message of a kind that the owner has switched off, unless it is about security', async () => {
    await service.sql(
      `UPDATE accounts SET email_settings = '{"webhook_disabled": false, "new_sign_in": false}' WHERE email = $1`,
      [customer.email],
    );
    for (const type of ['webhook.disabled', 'session.created', 'renewal.upcoming'])
      await insertEvents(type, 1, `'once'`, {});
    await dispatchEvents();
    expect(await readEmailKinds(service, customer)).to.deep.equal(['new_sign_in', 'renewal_upcoming']);
  });

  it('is healed by the sweep when its job was lost', async () => {
    await addEndpoint(service, customer);
    await endGeneration();
    // The job that the end has enqueued, without a worker that takes it.
    await withQueue(service, 'tasks', async (queue) => {
      await eventually('enqueued', async () => (await queue.getWaitingCount()) > 0);
      await queue.obliterate({ force: true });
    });
    expect(await readDeliveries(service, customer)).to.deep.equal([]);
    const worker = await service.startWorker();
    await eventually('delivered', async () => (await readDeliveries(service, customer)).length === 1);
    await worker.stop();
  });

  it('keeps dispatched events for 30 days, and others until they are dispatched and delivered', async () => {
    await addEndpoint(service, customer);
    await insertEvents('subscription.updated', 3);
    await dispatchEvents();
    await insertEvents('subscription.updated', 1);
    const [recent, ended, pending, waiting] = (await readEvents(service, customer)).map(({ id }) => id);
    await service.sql(
      `UPDATE webhook_deliveries SET status = 'failed', next_attempt_at = NULL WHERE event_id = ANY ($1)`,
      [[recent, ended]],
    );
    await service.sql(`UPDATE outbox_events SET created_at = now() - interval '31 days' WHERE id = ANY ($1)`, [
      [ended, pending, waiting],
    ]);
    await pruneTable('outbox_events');
    expect((await readEvents(service, customer)).map(({ id }) => id)).to.deep.equal([recent, pending, waiting]);
    expect((await readDeliveries(service, customer)).map(({ event_id: id }) => id)).to.deep.equal([recent, pending]);
  });
});
