import { expect } from 'chai';
import { EMAIL_KINDS, SECURITY_EMAIL_KINDS } from '../../shared/spec/events.ts';
import type { FakeSmtpServer } from '../fakes/smtpServer.ts';
import type { TestCustomer } from '../harness/apiClient.ts';
import { queueAllKinds, queueEmail } from '../harness/emails.ts';
import { HttpBrowser } from '../harness/httpBrowser.ts';
import { useMailService } from '../harness/mailService.ts';
import { handOver } from '../harness/members.ts';
import type { TestService } from '../harness/testService.ts';
import { sendEmails } from '../harness/tasks.ts';

describe('preferences for e-mail messages', () => {
  const mail = useMailService();
  let smtp: FakeSmtpServer;
  let service: TestService;
  let customer: TestCustomer;
  before(async () => {
    ({ smtp, service } = mail);
  });
  beforeEach(async () => {
    customer = await mail.createCustomer(null);
  });

  const received = () => mail.listReceived(customer);
  const unsubscribeUrl = () => received()[0]?.headers.get('list-unsubscribe')?.slice(1, -1) ?? '';

  it('kinds that are switched off are not sent, except those about security', async () => {
    const off = Object.fromEntries(EMAIL_KINDS.map((kind) => [kind, false]));
    await service.sql('UPDATE accounts SET email_settings = $2 WHERE email = $1', [customer.email, off]);
    await queueAllKinds(service, customer);
    await sendEmails();
    const kinds = (await service.sql('SELECT kind FROM emails')).map(({ kind }) => kind);
    expect(kinds).to.have.members([...SECURITY_EMAIL_KINDS]);
    expect(received()).to.have.length(SECURITY_EMAIL_KINDS.length);
  });

  it('a failed manual top-up sends nothing', async () => {
    const params = { kind: 'manual', amount_cents: 5_000, failure_code: 'expired' };
    await queueEmail(service, customer, 'auto_topup_failed', params);
    await sendEmails();
    expect(smtp.attempts).to.deep.equal([]);
  });

  it('one request to the address in List-Unsubscribe switches the kind off, without a session', async () => {
    await queueEmail(service, customer, 'payout_sent');
    await sendEmails();
    expect(received()[0]?.headers.get('list-unsubscribe-post')).to.equal('List-Unsubscribe=One-Click');
    const settings = async () => (await customer.request('GET', '/api/notifications/settings/')).body.email;
    // Programs that check links open them.
    expect((await fetch(unsubscribeUrl())).status).to.equal(200);
    expect(await settings()).to.include({ payout_sent: true });
    const body = new FormData();
    body.set('List-Unsubscribe', 'One-Click');
    const answer = await fetch(unsubscribeUrl(), {
      method: 'POST',
      body,
      headers: { origin: 'https://mail.example.net' },
    });
    expect([answer.status, await answer.text()].join(' ')).to.match(/^200 .*no longer receive messages/s);
    expect(await settings()).to.include({ payout_sent: false, payout_setup_missing: true, credits_low: true });
    await queueEmail(service, customer, 'payout_sent');
    await sendEmails();
    expect(received()).to.have.length(1);
  });

  it('the page of the address has a button, and works without a session', async () => {
    await queueEmail(service, customer, 'renewal_upcoming');
    await sendEmails();
    const visitor = new HttpBrowser();
    const page = await visitor.request(unsubscribeUrl());
    expect(page.text).to.include('<h1>Unsubscribe</h1>').and.include('The plan renews').and.not.include('<script');
    const done = await visitor.submitForm(unsubscribeUrl(), {});
    expect([done.status, done.text.includes('<h1>Unsubscribed</h1>')]).to.deep.equal([200, true]);
  });

  it('a token of another account, of another kind, or about security is rejected', async () => {
    await queueEmail(service, customer, 'payout_sent');
    await sendEmails();
    const url = unsubscribeUrl();
    const other = await service.createCustomer(null);
    const [{ uuid }] = await service.sql('SELECT uuid FROM accounts WHERE email = $1', [other.email]);
    const forged = [
      url.replace('payout_sent', 'credits_low'),
      url.replace('payout_sent', 'key_created'),
      url.replace(/[0-9a-f-]{36}/, uuid),
      `${url}x`,
      url.slice(0, -1),
      `${service.baseUrl}/unsubscribe/x`,
    ];
    for (const address of forged) {
      expect((await fetch(address)).status, address).to.equal(404);
      expect((await fetch(address, { method: 'POST' })).status, address).to.equal(404);
    }
    const rows = await service.sql('SELECT email_settings FROM accounts WHERE email = ANY ($1)', [
      [customer.email, other.email],
    ]);
    expect(rows.map(({ email_settings: settings }) => settings)).to.deep.equal([{}, {}]);
  });

  it('a hand-over invalidates the tokens of the former owner only', async () => {
    const heir = await service.createCustomer(null);
    const settings = async () =>
      (await heir.requestWithSession('GET', '/api/notifications/settings/')).body.email.payout_sent;
    await queueEmail(service, customer, 'payout_sent');
    await sendEmails();
    const url = unsubscribeUrl();
    await handOver(customer, heir);
    expect((await fetch(url)).status).to.equal(404);
    expect([(await fetch(url, { method: 'POST' })).status, await settings()]).to.deep.equal([404, true]);
    // Both accounts of the new owner receive one.
    await queueEmail(service, heir, 'payout_sent');
    await sendEmails();
    const [accountUuid = ''] = /[0-9a-f-]{36}/.exec(url) ?? [];
    const own = mail.listReceived(heir).map(({ headers }) => headers.get('list-unsubscribe')?.slice(1, -1));
    const link = own.find((address) => address?.includes(accountUuid)) ?? '';
    expect([(await fetch(link, { method: 'POST' })).status, await settings()]).to.deep.equal([200, false]);
  });

  it('messages about security have no address to unsubscribe', async () => {
    for (const kind of SECURITY_EMAIL_KINDS) await queueEmail(service, customer, kind);
    await sendEmails();
    for (const { headers, text } of received()) {
      expect([...headers.keys()]).to.not.include('list-unsubscribe');
      expect(text).to.include('cannot be switched off').and.not.include('/unsubscribe/');
    }
  });
});
