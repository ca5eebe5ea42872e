import { expect } from 'chai';
import { emailsEnded } from '../../shared/lib/metrics.ts';
import { EMAIL_KINDS } from '../../shared/spec/events.ts';
import type { FakeSmtpServer } from '../fakes/smtpServer.ts';
import type { TestCustomer } from '../harness/apiClient.ts';
import { queueAllKinds, queueEmail, readEmail } from '../harness/emails.ts';
import { useMailService } from '../harness/mailService.ts';
import { pruneTable } from '../harness/pruneTable.ts';
import { changeOwner } from '../harness/people.ts';
import type { TestService } from '../harness/testService.ts';
import { readTasks, sendEmails } from '../harness/tasks.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** Reads the metric of messages that have ended in this process. */
async function countEnded(): Promise<{ sent: number; failed: number }> {
  const { values } = await emailsEnded.get();
  const count = (name: string) => values.find(({ labels }) => labels['outcome'] === name)?.value ?? 0;
  return { sent: count('sent'), failed: count('failed') };
}

describe('e-mail messages', () => {
  const mail = useMailService({ SUPPORT_EMAIL: 'help@example.com' });
  let smtp: FakeSmtpServer;
  let service: TestService;
  let customer: TestCustomer;
  before(async () => {
    ({ smtp, service } = mail);
  });
  beforeEach(async () => {
    customer = await mail.createCustomer(null);
  });

  const passTime = (ms: number) => service.moveClockTo(new Date(service.now.getTime() + ms));
  const received = () => mail.listReceived(customer);
  const tasks = () => readTasks(service, 'email.send');

  it('each kind is sent once, to the current address of the account, with the configured sender', async () => {
    await queueAllKinds(service, customer);
    await sendEmails();
    await sendEmails();
    expect(received()).to.have.length(EMAIL_KINDS.length);
    const rows = await service.sql('SELECT uuid, status, sent_at FROM emails');
    for (const { status, sent_at: sentAt } of rows)
      expect([status, sentAt instanceof Date]).to.deep.equal(['sent', true]);
    expect(await tasks()).to.deep.equal([]);
    const ids = received().map(({ headers }) => headers.get('message-id'));
    expect(ids).to.have.members(rows.map(({ uuid }) => `<${uuid}@mail.example.com>`));
    for (const { headers, text, html } of received()) {
      expect(headers.get('from')).to.equal('genmeter <no-reply@mail.example.com>');
      expect(headers.get('reply-to')).to.equal('help@example.com');
      expect(headers.get('auto-submitted')).to.equal('auto-generated');
      expect(text).to.include(service.baseUrl);
      expect(html)
        .to.include('<!doctype html>')
        .and.not.match(/<img|<script|undefined/);
      // Random letters of a signed link can be NaN.
      expect(html.replaceAll(/https?:\/\/[^\s"<]+/g, '')).to.not.include('NaN');
      expect(html.length).to.be.below(10_000);
    }
  });

  it('messages are sent several at a time, but not all at once', async () => {
    for (let count = 0; count < 12; count += 1) await queueEmail(service, customer, 'payout_sent');
    smtp.faultsByRecipient.set(customer.email, 'slow');
    await sendEmails();
    expect(received()).to.have.length(12);
    expect(smtp.maxConcurrency).to.be.within(2, 4);
  });

  it('concurrent runs send each message once', async () => {
    for (let count = 0; count < 10; count += 1) await queueEmail(service, customer, 'payout_sent');
    await Promise.all([sendEmails(), sendEmails(), sendEmails()]);
    expect(received()).to.have.length(10);
  });

  for (const [what, fault] of [
    ['a recipient that is deferred', 450],
    ['a message that is deferred', 'data:451'],
    ['a full server', 'data:452'],
    ['a connection that is closed before the message is accepted', 'cutBefore'],
  ] as const) {
    it(`${what}: the message is retried with back-off until it is accepted, and received once`, async () => {
      const uuid = await queueEmail(service, customer, 'credits_low');
      smtp.faults = [fault, fault];
      await sendEmails();
      const row = await readEmail(service, uuid);
      const [task] = await tasks();
      expect([row.status, task.attempts, task.lease]).to.deep.equal(['pending', 1, null]);
      expect(task.run_at.getTime() - service.now.getTime()).to.be.within(50_000, 60_000);
      expect(task.last_error).to.be.a('string').and.not.include(customer.email);
      // Not before it is due.
      await sendEmails();
      expect(smtp.attempts).to.have.length(1);
      await passTime(MINUTE_MS);
      await sendEmails();
      await passTime(2 * MINUTE_MS);
      await sendEmails();
      expect((await readEmail(service, uuid)).status).to.equal('sent');
      expect(received()).to.have.length(1);
    });
  }

  it('a connection that is closed after the message was accepted: it is sent once more with the same Message-ID', async () => {
    const uuid = await queueEmail(service, customer, 'credits_low');
    smtp.faults = ['cutAfter'];
    await sendEmails();
    expect((await readEmail(service, uuid)).status).to.equal('pending');
    await passTime(MINUTE_MS);
    await sendEmails();
    await passTime(DAY_MS);
    await sendEmails();
    const ids = received().map(({ headers }) => headers.get('message-id'));
    expect(ids).to.have.length(2);
    expect(new Set(ids)).to.have.property('size', 1);
    expect((await readEmail(service, uuid)).status).to.equal('sent');
  });

  it('greylisting delays a message and loses none', async () => {
    smtp.isGreylisting = true;
    await queueEmail(service, customer, 'credits_low');
    await sendEmails();
    expect(received()).to.have.length(0);
    await passTime(MINUTE_MS);
    await sendEmails();
    expect(received()).to.have.length(1);
  });

  for (const fault of [550, 'data:554'] as const) {
    it(`a rejection with ${fault} is final, and does not affect other messages`, async () => {
      const rejected = await queueEmail(service, customer, 'credits_low');
      const other = await service.createCustomer(null);
      await queueEmail(service, other, 'credits_low');
      smtp.faultsByRecipient.set(customer.email, fault);
      const ended = await countEnded();
      await sendEmails();
      const row = await readEmail(service, rejected);
      expect(row.status).to.equal('failed');
      expect(await tasks()).to.deep.equal([]);
      expect(row.last_error).to.match(/55[04]$/);
      expect(smtp.findMessages(other.email)).to.have.length(1);
      expect(await countEnded()).to.deep.equal({ sent: ended.sent + 1, failed: ended.failed + 1 });
      await passTime(DAY_MS);
      await sendEmails();
      expect(smtp.attempts.filter((address) => address === customer.email)).to.have.length(1);
    });
  }

  it('a server that does not respond ends the attempt within the time limit, and other messages keep their place', async () => {
    const uuids: string[] = [];
    for (let count = 0; count < 8; count += 1) uuids.push(await queueEmail(service, customer, 'payout_sent'));
    smtp.faultsByRecipient.set(customer.email, 'hang');
    const begin = performance.now();
    await sendEmails();
    expect(performance.now() - begin).to.be.below(30_000);
    expect((await tasks()).filter(({ attempts }) => attempts === 0)).to.have.length(4);
    smtp.faultsByRecipient.clear();
    await passTime(2 * MINUTE_MS);
    await sendEmails();
    expect(received()).to.have.length(8);
  }).timeout(60_000);

  it('a server without a greeting, and one that refuses connections, lose no message', async () => {
    await queueEmail(service, customer, 'credits_low');
    // Connections that are open need no greeting.
    await smtp.stop();
    await smtp.start();
    smtp.isMute = true;
    await sendEmails();
    smtp.isMute = false;
    await smtp.stop();
    await passTime(2 * MINUTE_MS);
    await sendEmails();
    expect((await tasks())[0].attempts).to.equal(2);
    await smtp.start();
    await passTime(5 * MINUTE_MS);
    await sendEmails();
    expect(received()).to.have.length(1);
  }).timeout(60_000);

  it('a message is given up three days after it was written', async () => {
    const uuid = await queueEmail(service, customer, 'credits_low');
    smtp.faultsByRecipient.set(customer.email, 451);
    let attempts = 0;
    for (; (await readEmail(service, uuid)).status === 'pending' && attempts < 50; attempts += 1) {
      await sendEmails();
      const [task] = await tasks();
      if (task !== undefined) await service.moveClockTo(task.run_at);
    }
    const row = await readEmail(service, uuid);
    expect([row.status, row.last_error]).to.deep.equal(['failed', 'not sent in time']);
    expect(attempts).to.be.within(15, 30);
    expect(service.now.getTime() - row.created_at.getTime()).to.be.within(3 * DAY_MS, 3.5 * DAY_MS);
  });

  it('a message that is late, because no worker ran or SMTP_URL was not set, is given up without an attempt', async () => {
    const late = await queueEmail(service, customer, 'credits_low');
    await passTime(3 * DAY_MS);
    const recent = await queueEmail(service, customer, 'payout_sent');
    await sendEmails();
    const row = await readEmail(service, late);
    expect([row.status, row.last_error]).to.deep.equal(['failed', 'not sent in time']);
    expect((await readEmail(service, recent)).status).to.equal('sent');
    expect(received()).to.have.length(1);
  });

  it('a message that cannot be written delays no other one, and ends', async () => {
    const broken = await queueEmail(service, customer, 'renewal_upcoming', { plan: 'unknown' });
    const other = await queueEmail(service, customer, 'payout_sent');
    await sendEmails();
    expect((await readEmail(service, broken)).status).to.equal('pending');
    expect((await readEmail(service, other)).status).to.equal('sent');
    await passTime(3 * DAY_MS);
    await sendEmails();
    expect((await readEmail(service, broken)).status).to.equal('failed');
  });

  it('a worker that ends during an attempt delays its message by the lease only', async () => {
    await queueEmail(service, customer, 'credits_low');
    const lease = new Date(service.now.getTime() + 2 * MINUTE_MS);
    await service.sql(`UPDATE tasks SET lease = gen_random_uuid(), run_at = $1 WHERE kind = 'email.send'`, [lease]);
    await sendEmails();
    expect(smtp.attempts).to.have.length(0);
    await service.moveClockTo(lease);
    await sendEmails();
    expect(received()).to.have.length(1);
  });

  it('an erased account receives nothing, a suspended one does', async () => {
    const erased = await service.createCustomer(null);
    const uuid = await queueEmail(service, erased, 'payout_sent');
    await service.sql('UPDATE accounts SET erased_at = now(), deletion_requested_at = now() WHERE email = $1', [
      erased.email,
    ]);
    await service.sql('UPDATE accounts SET suspended_at = now() WHERE email = $1', [customer.email]);
    await queueEmail(service, customer, 'payout_sent');
    await sendEmails();
    expect(smtp.attempts).to.deep.equal([customer.email]);
    expect(await readEmail(service, uuid)).to.equal(undefined);
    await service.sql('UPDATE accounts SET erased_at = NULL, deletion_requested_at = NULL, suspended_at = NULL');
  });

  it('the language of the account decides the texts', async () => {
    await changeOwner(service, customer.email, 'language', 'de-AT');
    await queueEmail(service, customer, 'credits_low');
    await sendEmails();
    expect(received()[0]?.headers.get('subject')).to.equal('Ihr Guthaben bei genmeter ist niedrig: 1.050 Credits');
  });

  it('messages are deleted after 90 days', async () => {
    const uuid = await queueEmail(service, customer, 'credits_low');
    await sendEmails();
    await passTime(89 * DAY_MS);
    await pruneTable('emails');
    expect(await readEmail(service, uuid)).to.not.equal(undefined);
    await passTime(DAY_MS);
    await pruneTable('emails');
    expect(await readEmail(service, uuid)).to.equal(undefined);
  });
});
