import { expect } from 'chai';
import { type Mailbox, startMailbox } from '../../dev/local/mail/mailbox.ts';
import type { TestCustomer } from '../harness/apiClient.ts';
import { sendRawBytes } from '../harness/rawRequest.ts';
import { eventually, startTestService, type TestService } from '../harness/testService.ts';

const NAME = 'robot <b>of</b> Zürich';

describe('the mailbox of npm start', () => {
  let mailbox: Mailbox;
  let service: TestService;
  let customer: TestCustomer;
  before(async () => {
    mailbox = await startMailbox({ smtp: 0, page: 0 });
    service = await startTestService({ env: { SMTP_URL: mailbox.smtpUrl, MAIL_FROM: 'no-reply@localhost' } });
    customer = await service.createCustomer(null);
  });
  after(async () => {
    await service.stop();
    await mailbox.stop();
  });

  const open = async (path: string, options?: RequestInit) => {
    const response = await fetch(new URL(path, mailbox.pageUrl), options);
    return {
      status: response.status,
      policy: response.headers.get('content-security-policy'),
      html: await response.text(),
    };
  };
  /** Lists the pages of the messages, newest first. */
  const listPaths = async () =>
    [...(await open('/')).html.matchAll(/href="(\/messages\/\d+\/)"/g)].map(([, path]) => path as string);

  it('lists the messages that the service sends, and shows each as text and as HTML', async () => {
    const { status } = await customer.requestWithSession('POST', '/api/keys/create/', { body: { name: NAME } });
    expect(status).to.equal(201);
    let path: string | undefined;
    await eventually('the message has arrived', async () => {
      for (const candidate of await listPaths()) if ((await open(candidate)).html.includes('Zürich')) path = candidate;
      return path !== undefined;
    });
    const list = (await open('/')).html;
    expect(list)
      .to.include(customer.email)
      .and.match(new RegExp(`href="${path}">New API key`));
    const message = await open(path as string);
    expect(message.status).to.equal(200);
    expect(message.html).to.include(customer.email).and.include('robot &lt;b&gt;of&lt;/b&gt; Zürich');
    expect(message.html).to.match(/<pre>[^<]*Zürich[^<]*<\/pre>/);
    expect(message.html).to.include(`<iframe title="HTML" src="${path}html" sandbox=`);
    const content = await open(`${path}html`);
    expect(content.html).to.include('<base target="_blank">').and.include('Zürich');
    expect(content.policy).to.include('sandbox').and.not.include('script');
  });

  it('is read by its own name only, and by GET', async () => {
    const { host, port } = new URL(mailbox.pageUrl);
    const reply = await sendRawBytes(
      mailbox.pageUrl,
      `GET / HTTP/1.1\r\nHost: other.example:${port}\r\nConnection: close\r\n\r\n`,
    );
    expect(reply)
      .to.match(/^HTTP\/1\.1 403 /)
      .and.not.include(customer.email);
    const own = await sendRawBytes(mailbox.pageUrl, `GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
    expect(own).to.match(/^HTTP\/1\.1 200 /);
    expect((await open('/', { method: 'POST' })).status).to.equal(405);
    expect((await open('/messages/999/')).status).to.equal(404);
  });
});
