import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect } from 'chai';
import { getWebhookDataSchemas } from '../../shared/presenters/webhookData.ts';
import { isWebhookEventType } from '../../shared/spec/events.ts';
import { enrollAffiliate, signUpReferred } from '../harness/affiliates.ts';
import { type TestCustomer, IMAGE } from '../harness/apiClient.ts';
import { type BillingService, startBillingService } from '../harness/billingService.ts';
import { runJob } from '../harness/jobs.ts';
import { registerClient } from '../harness/oauthClient.ts';
import { addEndpoint, readDeliveries, readEmailKinds, readEvents } from '../harness/outbox.ts';
import { eventually } from '../harness/testService.ts';
import { createTestEndpoint } from '../harness/webhookFixture.ts';
import { WebhookReceiver } from '../fakes/webhookReceiver.ts';
import { runDueTasks } from '../harness/tasks.ts';

const DAY_MS = 86_400_000;
/** Without call-backs, the end of each generation is noticed two seconds later. */
const UPSTREAMS = JSON.stringify({ upstreams: { fal: { callbacks: true } } });

/** A customer with the affiliate who referred them. */
interface People {
  customer: TestCustomer;
  affiliate: TestCustomer;
}

async function signUpPeople(billing: BillingService): Promise<People> {
  const { service, stripe } = billing;
  const { affiliate, code } = await enrollAffiliate(service.baseUrl);
  const { body } = await affiliate.request('POST', '/api/affiliate/onboarding-link/');
  stripe.onboard(/acct_\w+/.exec(body.url)?.[0] as string);
  await billing.drained();
  return { affiliate, customer: await signUpReferred(service.baseUrl, code) };
}

async function generate(customer: TestCustomer): Promise<any> {
  return customer.waitForEnd((await customer.createGeneration(IMAGE)).body.uuid);
}

/** Makes a change of every kind that an event is recorded for, except a failed renewal. */
async function makeChanges(billing: BillingService, { customer, affiliate }: People): Promise<void> {
  const { service, stripe } = billing;
  const setAccount = (assignment: string) =>
    service.sql(`UPDATE accounts SET ${assignment} WHERE email = $1`, [customer.email]);
  const { body: key } = await customer.requestWithSession('POST', '/api/keys/create/', { body: { name: 'robot' } });
  await customer.requestWithSession('POST', `/api/keys/${key.uuid}/revoke/`, { body: {} });
  await billing.subscribe(customer, 'lite');
  await billing.topUp(customer, 5_000);
  await generate(customer);
  service.upstream.outcome = 'fail';
  await generate(customer);
  service.upstream.outcome = 'succeed';
  await setAccount('credits_low_threshold = balance');
  await generate(customer);
  await generate(customer);
  await (await registerClient(service.baseUrl)).authorizeAndExchange(customer);
  await service.request('POST', '/authentication/dev/sign-in/', {
    body: { email: customer.email },
    headers: { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:130.0) Gecko/20100101 Firefox/130.0' },
  });
  stripe.setCard(billing.customerId(customer), 'declined');
  await setAccount('auto_topup_enabled = true, auto_topup_declines = 2, auto_topup_threshold_credits = balance');
  await generate(customer);
  await eventually('switched off', async () => {
    const [row] = await service.sql('SELECT auto_topup_enabled AS on FROM accounts WHERE email = $1', [customer.email]);
    return row.on === false;
  });
  service.fabricated.add('commissions-are-their-share');
  await service.sql(
    `UPDATE commissions SET payable_at = payable_at - interval '4 months', synced_at = synced_at - interval '1 day'`,
  );
  await runJob(billing, 'billing', 'payouts.run');
  await runDueTasks(billing.service);
  expect((await affiliate.request('GET', '/api/affiliate/status/')).body.stats.paid_cents).to.be.above(0);
}

const countTypes = (events: { type: string }[]) => {
  const counts: Record<string, number> = {};
  for (const { type } of events) counts[type] = (counts[type] ?? 0) + 1;
  return counts;
};

describe('events of an account with a webhook endpoint, in a service that sends e-mail', () => {
  const receiver = new WebhookReceiver();
  let billing: BillingService;
  let people: People;
  before(async () => {
    await receiver.start();
    billing = await startBillingService({
      env: {
        SMTP_URL: 'smtp://127.0.0.1:9',
        MAIL_FROM: 'genmeter <mail@example.com>',
        WEBHOOK_ADDRESSES: 'any',
        UPSTREAMS,
      },
    });
    people = await signUpPeople(billing);
    await billing.service.sql('DELETE FROM outbox_events');
    await billing.service.sql('DELETE FROM emails');
    await addEndpoint(billing.service, people.customer);
    await addEndpoint(billing.service, people.affiliate);
    await makeChanges(billing, people);
    await eventually('all events are dispatched', async () => {
      const due = await billing.service.sql('SELECT 1 FROM outbox_events WHERE dispatched_at IS NULL');
      return due.length === 0;
    });
  });
  after(async () => {
    await billing.stop();
    await receiver.stop();
  });

  const listEvents = (who: TestCustomer) => readEvents(billing.service, who);

  it('are recorded once for each change', async () => {
    const { 'subscription.updated': updates, ...counts } = countTypes(await listEvents(people.customer));
    expect(updates).to.be.at.least(1);
    expect(counts).to.deep.equal({
      'plan.activated': 1,
      'key.created': 1,
      'key.revoked': 1,
      'credits.granted': 1,
      'topup.succeeded': 1,
      'generation.succeeded': 4,
      'generation.failed': 1,
      'credits.low': 1,
      'application.connected': 1,
      'session.created': 1,
      'topup.failed': 1,
      'auto_topup.disabled': 1,
    });
    expect(countTypes(await listEvents(people.affiliate))).to.deep.equal({
      'affiliate.commission': 1,
      'affiliate.payout': 1,
    });
  });

  it('are not recorded again when the same state is synced again', async () => {
    const before = countTypes(await listEvents(people.customer));
    await billing.service.sql(`UPDATE subscriptions SET synced_at = synced_at - interval '2 days'`);
    await runJob(billing, 'billing', 'payments.reconcile');
    await runJob(billing, 'billing', 'payouts.run');
    await runDueTasks(billing.service);
    await billing.drained();
    expect(countTypes(await listEvents(people.customer))).to.deep.equal(before);
    expect(await listEvents(people.affiliate)).to.have.length(2);
  });

  it('have a body with the documented data, which is delivered once to the endpoint', async () => {
    const validator = new Ajv2020({ strict: false, validateFormats: false });
    for (const who of [people.customer, people.affiliate]) {
      const events = (await listEvents(who)).filter(({ type }) => isWebhookEventType(type));
      for (const { type, body, created_at: createdAt } of events) {
        const message = JSON.parse(body as string);
        expect(Object.keys(message)).to.deep.equal(['type', 'timestamp', 'data']);
        expect([message.type, message.timestamp]).to.deep.equal([type, createdAt.toISOString()]);
        const schema = getWebhookDataSchemas()[type as keyof ReturnType<typeof getWebhookDataSchemas>];
        const isValid = validator.validate(schema, message.data);
        expect(isValid, `${type}: ${validator.errorsText()}`).to.equal(true);
        expect(Object.keys(message.data)).to.have.members(schema.required as string[]);
      }
      const delivered = (await readDeliveries(billing.service, who)).map(({ event_id: id }) => String(id));
      expect(delivered).to.deep.equal(events.map(({ id }) => String(id)));
    }
  });

  it('contain exactly what GET answers', async () => {
    const { customer } = people;
    const events = await listEvents(customer);
    const listData = (type: string) =>
      events.filter((event) => event.type === type).map(({ body }) => JSON.parse(body as string).data);
    for (const data of [...listData('generation.succeeded'), ...listData('generation.failed')])
      expect(data).to.deep.equal((await customer.readGeneration(data.uuid)).body);
    const ledger = (await customer.request('GET', '/api/ledger/?entry_type=grant')).body.data;
    expect(listData('credits.granted')).to.deep.equal(ledger);
    const keys = (await customer.requestWithSession('GET', '/api/keys/')).body.data;
    expect(listData('key.revoked')).to.deep.equal(keys.filter(({ revoked }: { revoked: boolean }) => revoked));
    const status = (await customer.request('GET', '/api/billing/status/')).body;
    expect(listData('subscription.updated').at(-1)).to.deep.equal(status);
    expect(listData('topup.failed')[0]).to.include({ kind: 'automatic', status: 'failed', failure_code: 'declined' });
    const [low] = listData('credits.low');
    expect(low.threshold - low.balance).to.equal(8);
  });

  it('send one message for each cause, and none of a decline that switched automatic top-ups off', async () => {
    expect((await readEmailKinds(billing.service, people.customer)).sort()).to.deep.equal([
      'application_connected',
      'auto_topup_disabled',
      'credits_low',
      'key_created',
      'new_sign_in',
      'plan_active',
    ]);
    expect(await readEmailKinds(billing.service, people.affiliate)).to.deep.equal(['payout_sent']);
  });

  it('record low credits again only after the balance has recovered, and not for each generation that fails', async () => {
    const { customer } = people;
    const countLow = async () => countTypes(await listEvents(customer))['credits.low'];
    const lowSince = async () => {
      const [row] = await billing.service.sql('SELECT credits_low_since AS at FROM accounts WHERE email = $1', [
        customer.email,
      ]);
      return row.at;
    };
    expect(await lowSince()).to.be.an.instanceOf(Date);
    billing.service.upstream.outcome = 'fail';
    await generate(customer);
    billing.service.upstream.outcome = 'succeed';
    await generate(customer);
    expect(await countLow()).to.equal(1);
    await billing.topUp(customer, 5_000);
    expect(await lowSince()).to.equal(null);
    await billing.service.sql('UPDATE accounts SET credits_low_threshold = balance WHERE email = $1', [customer.email]);
    await generate(customer);
    expect(await countLow()).to.equal(2);
    // Its refund returns the balance to the threshold, and the next one crosses it again.
    const threshold = 'UPDATE accounts SET credits_low_threshold = balance, credits_low_since = NULL WHERE email = $1';
    await billing.service.sql(threshold, [customer.email]);
    billing.service.upstream.outcome = 'fail';
    await generate(customer);
    await generate(customer);
    expect(await countLow()).to.equal(3);
    billing.service.upstream.outcome = 'succeed';
  });

  it('contain the options of a key and what is used of its limit', async () => {
    const { customer } = people;
    const options = { credit_limit: { credits: 50, period: 'day' }, scopes: ['svc:read'], expires_at: '2099-01-01' };
    const request = { body: { name: 'limited', ...options } };
    const { body: created } = await customer.requestWithSession('POST', '/api/keys/create/', request);
    const readPresent = async () =>
      (await customer.requestWithSession('GET', '/api/keys/')).body.data.find(
        ({ uuid }: { uuid: string }) => uuid === created.uuid,
      );
    const readData = async (type: string) => {
      const body = (await listEvents(customer)).findLast((event) => event.type === type)?.body;
      return JSON.parse(body ?? 'null')?.data;
    };
    await eventually('created', async () => (await readData('key.created'))?.uuid === created.uuid);
    const present = await readPresent();
    expect(present).to.deep.include({ credit_limit: options.credit_limit, credits_used: 0, scopes: ['svc:read'] });
    expect(await readData('key.created')).to.deep.equal(present);
    await customer.requestWithSession('POST', `/api/keys/${created.uuid}/revoke/`, { body: {} });
    await eventually('revoked', async () => (await readData('key.revoked'))?.uuid === created.uuid);
    expect(await readData('key.revoked')).to.deep.equal({ ...present, revoked: true });
  });

  it('record a failed renewal with the time after which no credits can be spent', async () => {
    const customer = await billing.createCustomer('lite');
    billing.stripe.failRenewals = true;
    await billing.advanceTo(new Date(Date.now() + 367 * DAY_MS));
    await eventually('recorded', async () => countTypes(await listEvents(customer))['payment.failed'] === 1);
    const failure = (await listEvents(customer)).find(({ type }) => type === 'payment.failed');
    const [row] = await billing.service.sql('SELECT spendable_until AS at FROM accounts WHERE email = $1', [
      customer.email,
    ]);
    expect(failure?.details).to.deep.equal({ plan: 'lite', spendable_until: row.at.toISOString() });
  });

  it('record the end of a plan that had lapsed before its end was synced', async () => {
    const customer = await billing.createCustomer('lite');
    // An endpoint that fails would be disabled when the year has passed, and might be before the end is synced.
    await createTestEndpoint(billing.service, customer, receiver.url);
    billing.stripe.cancelAtPeriodEnd(billing.customerId(customer));
    await billing.drained();
    const readUpdates = async () =>
      (await listEvents(customer))
        .filter(({ type }) => type === 'subscription.updated')
        .map(({ details }) => [details['plan_slug'], details['status'], details['cancel_at_period_end']]);
    expect(await readUpdates()).to.deep.equal([['lite', 'active', true]]);
    await billing.advanceTo(new Date(billing.service.now.getTime() + 367 * DAY_MS));
    await eventually('recorded', async () => (await readUpdates()).at(-1)?.[1] === 'canceled');
    expect((await readUpdates()).at(-1)?.[0]).to.equal(null);
  });
});

describe('events of an account without a recipient', () => {
  let billing: BillingService;
  before(async () => {
    billing = await startBillingService({ env: { UPSTREAMS } });
  });
  after(() => billing.stop());

  it('are not recorded', async () => {
    const people = await signUpPeople(billing);
    await makeChanges(billing, people);
    expect(await billing.service.sql('SELECT type FROM outbox_events')).to.deep.equal([]);
    expect(await billing.service.sql('SELECT 1 FROM accounts WHERE credits_low_since IS NOT NULL')).to.have.length(0);
  });
});
