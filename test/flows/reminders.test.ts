import { expect } from 'chai';
import { recordReminders } from '../../shared/domain/emails/reminders.ts';
import { FakeSmtpServer } from '../fakes/smtpServer.ts';
import { enrollAffiliate, signUpReferred } from '../harness/affiliates.ts';
import type { TestCustomer } from '../harness/apiClient.ts';
import { type BillingService, startBillingService } from '../harness/billingService.ts';

const DAY_MS = 86_400_000;
const START = new Date('2027-01-10T12:00:00Z');
/** End of the first year of a plan that begins at the start. */
const RENEWAL = new Date('2028-01-10T12:00:00Z');

describe('reminders', () => {
  const smtp = new FakeSmtpServer();
  let billing: BillingService;
  beforeEach(async () => {
    smtp.reset();
    await smtp.start();
    const env = { SMTP_URL: smtp.url, MAIL_FROM: 'no-reply@example.com' };
    billing = await startBillingService({ startAt: START, env });
  });
  afterEach(async () => {
    await billing.stop();
    await smtp.stop();
  });

  const listEvents = ({ email }: TestCustomer, type: string) =>
    billing.service.sql(
      `SELECT e.subject, e.details FROM outbox_events e JOIN accounts a ON a.id = e.account_id
        WHERE a.email = $1 AND e.type = $2 ORDER BY e.id`,
      [email, type],
    );
  const listRenewals = (customer: TestCustomer) => listEvents(customer, 'renewal.upcoming');

  /** Moves the clock to this many days before the renewal, and records what is due twice. */
  async function runDaysBefore(days: number): Promise<void> {
    await billing.service.moveClockTo(new Date(RENEWAL.getTime() - days * DAY_MS + 60_000));
    await recordReminders();
    await recordReminders();
  }

  it('a renewal is announced once 30 and once 7 days before, with its day and the charge of a year', async () => {
    const customer = await billing.createCustomer('pro');
    await runDaysBefore(32);
    expect(await listRenewals(customer)).to.deep.equal([]);
    await runDaysBefore(30);
    await runDaysBefore(29);
    const [event, ...others] = await listRenewals(customer);
    expect(others).to.deep.equal([]);
    expect(event.subject).to.match(/^[0-9a-f-]{36} 2028-01-10 30$/);
    expect(event.details).to.include({ plan: 'pro', amount_cents: 34_800, has_tax: false });
    const renewsAt = new Date(event.details.renews_at).getTime();
    expect(Math.abs(renewsAt - RENEWAL.getTime())).to.be.below(DAY_MS / 2);
    await runDaysBefore(8);
    expect(await listRenewals(customer)).to.have.length(1);
    await runDaysBefore(7);
    await runDaysBefore(5);
    const subjects = (await listRenewals(customer)).map(({ subject }) => subject);
    expect(subjects.map((subject: string) => subject.split(' ')[2])).to.deep.equal(['30', '7']);
  }).timeout(120_000);

  it('a reminder that is later than some days is left out', async () => {
    const customer = await billing.createCustomer('pro');
    await runDaysBefore(24);
    expect(await listRenewals(customer)).to.deep.equal([]);
    await runDaysBefore(3);
    expect(await listRenewals(customer)).to.deep.equal([]);
  }).timeout(120_000);

  it('a plan that ends is not announced', async () => {
    const customer = await billing.createCustomer('pro');
    billing.stripe.cancelAtPeriodEnd(billing.customerId(customer));
    await billing.drained();
    await runDaysBefore(30);
    await runDaysBefore(7);
    expect(await listRenewals(customer)).to.deep.equal([]);
  }).timeout(120_000);

  it('an affiliate without payout setup is reminded once a month of commissions that can be paid out', async () => {
    const { affiliate, code } = await enrollAffiliate(billing.service.baseUrl);
    const referred = await signUpReferred(billing.service.baseUrl, code);
    await billing.subscribe(referred, 'pro');
    const list = async () => (await listEvents(affiliate, 'payout.setup_missing')).map((event) => Object.values(event));
    const runOn = async (day: string) => {
      await billing.service.moveClockTo(new Date(`${day}T12:00:00Z`));
      await recordReminders();
    };
    await runOn('2027-01-31');
    expect(await list(), 'the commission is pending').to.deep.equal([]);
    await runOn('2027-02-20');
    await runOn('2027-02-25');
    expect(await list()).to.deep.equal([['2027-02', { amount_cents: 10_440 }]]);
    await runOn('2027-03-01');
    expect(await list()).to.have.length(2);
    await billing.service.sql('UPDATE affiliates SET payout_enabled = true');
    await runOn('2027-04-01');
    expect(await list()).to.have.length(2);
  }).timeout(120_000);
});
