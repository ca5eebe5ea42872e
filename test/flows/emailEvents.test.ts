import { expect } from 'chai';
import type { FakeSmtpServer } from '../fakes/smtpServer.ts';
import type { TestCustomer } from '../harness/apiClient.ts';
import { accept, addMember, invite } from '../harness/members.ts';
import { registerClient } from '../harness/oauthClient.ts';
import { setAllModelsOnline } from '../harness/seeds.ts';
import { useMailService } from '../harness/mailService.ts';
import { changeOwner } from '../harness/people.ts';
import type { TestService } from '../harness/testService.ts';
import { dispatchEvents, sendEmails } from '../harness/tasks.ts';

async function deliver(): Promise<void> {
  await dispatchEvents();
  await sendEmails();
}

describe('messages that follow from events', () => {
  const mail = useMailService();
  let smtp: FakeSmtpServer;
  let service: TestService;
  let customer: TestCustomer;
  before(async () => {
    ({ smtp, service } = mail);
    await setAllModelsOnline(service);
  });
  beforeEach(async () => {
    customer = await mail.createCustomer('pro');
  });

  const received = () => mail.listReceived(customer);

  it('a new account and its plan cause one message each, in the language of the account', async () => {
    const { email } = await service.createCustomer('pro');
    await changeOwner(service, email, 'language', 'de');
    await deliver();
    await deliver();
    const messages = smtp.findMessages(email);
    const subjects = messages.map(({ headers }) => headers.get('subject'));
    expect(subjects).to.have.members([
      'Willkommen bei genmeter',
      'Ihr Tarif Pro ist aktiv',
      'Neuer API-Schlüssel für Ihr Konto bei genmeter',
    ]);
    const plan = messages.find(({ text }) => text.includes('jeden Monat'))?.text;
    expect(plan).to.match(
      /jeden Monat 1\.100 Credits\.\s+Die nächsten Credits werden am \d+\. \S+ \d{4} gutgeschrieben/,
    );
    expect(plan).to.include(`Jetzt starten: ${service.baseUrl}/account/`).and.to.include('/unsubscribe/');
  });

  it('a new key and a new application cause one message each, with their names and no secret', async () => {
    const { body } = await customer.request('POST', '/api/keys/create/', { body: { name: 'CI' } });
    await (await registerClient(service.baseUrl)).authorizeAndExchange(customer);
    await deliver();
    await deliver();
    const subjects = received().map(({ headers }) => headers.get('subject'));
    expect(subjects).to.have.members([
      'New API key for your genmeter account',
      'New application connected to your genmeter account',
    ]);
    for (const { text, html } of received()) {
      expect(text + html).to.not.match(/undefined|null|NaN/);
      expect(text + html).to.not.include(body.key);
    }
    expect(received().find(({ text }) => text.includes('API key “CI”'))?.text).to.include(`(${body.prefix}…)`);
  });

  it('an invitation is sent to the invited address, in the language of its person or of the account', async () => {
    await changeOwner(service, customer.email, 'language', 'de');
    const known = await service.createCustomer(null);
    await deliver();
    smtp.reset();
    for (const email of ['new@example.com', known.email]) await invite(customer, { email }, 'developer');
    await deliver();
    await deliver();
    const read = (email: string) => smtp.findMessages(email).map(({ headers }) => headers.get('subject'));
    expect(read('new@example.com')).to.deep.equal(['Einladung zu einem Konto bei genmeter']);
    expect(read(known.email)).to.deep.equal(['You are invited to an account at genmeter']);
    expect(received()).to.deep.equal([]);
    const [message] = smtp.findMessages(known.email);
    expect(message?.text)
      .to.include(customer.email)
      .and.include('with the role developer')
      .and.not.include('/unsubscribe/')
      .and.not.include('/account/notifications/');
    const [url = ''] = /http\S+\/account\/invitations\/\S+/.exec(message?.text ?? '') ?? [];
    expect(await accept(known, new URL(url).pathname)).to.equal(303);
  });

  it('a sign-in of a member with an unknown browser is announced to the member, not to the owner', async () => {
    const member = await addMember(customer, 'developer');
    await deliver();
    smtp.reset();
    const headers = { 'user-agent': 'another browser' };
    const signIn = async () =>
      service.request('POST', '/authentication/dev/sign-in/', { body: { email: member.email }, headers });
    await signIn();
    await signIn();
    await service.request('POST', '/authentication/dev/sign-in/', { body: { email: member.email } });
    await deliver();
    expect(smtp.findMessages(member.email).map(({ headers: sent }) => sent.get('subject'))).to.deep.equal([
      'New sign-in to your genmeter account',
    ]);
    expect(received()).to.deep.equal([]);
  });

  it('a balance that falls below the threshold causes one message, also while it falls further', async () => {
    const balance = await customer.balance();
    await customer.request('PATCH', '/api/notifications/settings/', { body: { credits_low_threshold: balance } });
    await customer.createImage('a confidential prompt');
    await customer.createImage();
    await deliver();
    const [message, ...others] = received();
    expect(others).to.deep.equal([]);
    expect(message?.headers.get('subject')).to.equal('Your genmeter balance is low: 1,092 credits');
    expect(message?.text).to.include('below the threshold of 1,100 credits').and.not.include('confidential');
  });

  it('a kind that is switched off causes no message', async () => {
    const body = { email: { credits_low: false }, credits_low_threshold: await customer.balance() };
    await customer.request('PATCH', '/api/notifications/settings/', { body });
    await customer.createImage();
    await deliver();
    expect(smtp.attempts).to.deep.equal([]);
  });
});
