import { expect } from 'chai';
import { toMailError } from '../../shared/gateways/mail/mailError.ts';
import { sendMail } from '../../shared/gateways/mail/mailTransport.ts';
import { parseMailAddress } from '../../shared/lib/email.ts';
import { parseConfig } from '../../shared/lib/config.ts';
import { closeServiceScope } from '../../shared/lib/serviceScope.ts';
import { FakeSmtpServer } from '../fakes/smtpServer.ts';
import { getConfigError, GOOD } from '../harness/configErrors.ts';
import { captureError } from '../harness/expectRejection.ts';
import { PRODUCTION_ENV, setTestConfig } from '../harness/testConfig.ts';

const SMTP_URL = 'smtp://user:p%40ss@mail.example.com:587';

const classify = (properties: object) => toMailError(Object.assign(new Error('to ann@example.com'), properties));

describe('the settings of e-mail', () => {
  it('need a sender', () => {
    expect(getConfigError({ SMTP_URL })).to.match(/^MAIL_FROM is not set, but SMTP_URL is: /);
    expect(getConfigError({ SMTP_URL, MAIL_FROM: 'no-reply@example.com' })).to.equal('');
    expect(getConfigError({ SMTP_URL, MAIL_FROM: 'Pixels & Co <no-reply@example.com>' })).to.equal('');
  });

  it('stop the start with a sentence that names the variable if they are invalid', () => {
    for (const url of ['mail.example.com', 'http://mail.example.com', 'smtp://', 'smtp://host:port'])
      expect(getConfigError({ SMTP_URL: url, MAIL_FROM: 'a@example.com' }), url).to.match(/SMTP_URL must be /);
    for (const sender of ['example.com', 'a b@example.com', 'Name <a@example.com', 'a@example.com, b@example.com'])
      expect(getConfigError({ SMTP_URL, MAIL_FROM: sender }), sender).to.match(/MAIL_FROM must be /);
    expect(getConfigError({ MAIL_REPLY_TO: 'nowhere' })).to.match(/MAIL_REPLY_TO must be /);
  });

  it('need a SECRET_KEY where customers receive messages, as links to unsubscribe are signed', () => {
    const env = { SMTP_URL, MAIL_FROM: 'a@example.com', BASE_URL: 'https://a.example' };
    const missing = /SECRET_KEY is not set, but SMTP_URL is: /;
    expect(getConfigError(env)).to.match(missing);
    expect(getConfigError({ ...env, SMTP_URL: 'smtp://127.0.0.1:2525' })).to.not.match(missing);
    expect(getConfigError({ ...env, NODE_ENV: 'production', SMTP_URL: 'smtp://127.0.0.1' })).to.match(missing);
    expect(getConfigError({ ...env, NODE_ENV: 'production', SECRET_KEY: 'a'.repeat(32) })).to.not.match(missing);
    expect(getConfigError({ NODE_ENV: 'production', BASE_URL: 'https://a.example' })).to.not.match(missing);
  });

  it('are read by commands as well, which write events', () => {
    const env = { ...GOOD, SMTP_URL, MAIL_FROM: 'no-reply@example.com' };
    expect(parseConfig(env, 'admin')).to.include({ SMTP_URL, MAIL_FROM: 'no-reply@example.com' });
  });

  it('name and address of a sender are separated', () => {
    expect(parseMailAddress('a@example.com')).to.deep.equal({ name: null, address: 'a@example.com' });
    expect(parseMailAddress('"Pixels & Co" <a@b.example>')).to.deep.equal({
      name: 'Pixels & Co',
      address: 'a@b.example',
    });
    expect(parseMailAddress('<a@example.com>')).to.deep.equal({ name: null, address: 'a@example.com' });
    expect(parseMailAddress('Name <a@example.com> x')).to.equal(null);
  });
});

const send = (env: Record<string, string>) => {
  setTestConfig({ MAIL_FROM: 'no-reply@example.com', SECRET_KEY: 'a'.repeat(32), ...env });
  const content = { subject: 'subject', text: 'text', html: '', headers: {} };
  return sendMail({ to: 'ann@example.com', uuid: '1', ...content });
};

describe('the connection to the mail server', () => {
  const smtp = new FakeSmtpServer();
  before(() => smtp.start());
  after(() => smtp.stop());
  afterEach(closeServiceScope);

  it('must be encrypted in production, except on this machine', async () => {
    // The same server at an address that is not one of this machine in the sense of the rule.
    const elsewhere = smtp.url.replace('127.0.0.1', '0.0.0.0');
    const error = await captureError(send({ ...PRODUCTION_ENV, SMTP_URL: elsewhere }));
    expect(error).to.include({ fault: 'unavailable' });
    expect(smtp.attempts).to.deep.equal([]);
    await closeServiceScope();
    await send({ ...PRODUCTION_ENV, SMTP_URL: smtp.url });
    await closeServiceScope();
    await send({ SMTP_URL: elsewhere });
    expect(smtp.attempts).to.deep.equal(['ann@example.com', 'ann@example.com']);
  });
});

describe('errors of the mail server', () => {
  for (const [what, properties, fault] of [
    ['a recipient that does not exist', { code: 'EENVELOPE', command: 'RCPT TO', responseCode: 550 }, 'rejected'],
    ['a message that is rejected', { code: 'EMESSAGE', command: 'DATA', responseCode: 554 }, 'rejected'],
    ['an address that cannot be sent', { code: 'EENVELOPE', command: 'API' }, 'rejected'],
    ['a recipient that is deferred', { code: 'EENVELOPE', command: 'RCPT TO', responseCode: 451 }, 'deferred'],
    ['a message that is deferred', { code: 'EMESSAGE', command: 'DATA', responseCode: 452 }, 'deferred'],
    ['a sender that is rejected', { code: 'EENVELOPE', command: 'MAIL FROM', responseCode: 553 }, 'unavailable'],
    ['a wrong password', { code: 'EAUTH', command: 'AUTH PLAIN', responseCode: 535 }, 'unavailable'],
    ['a server that closes', { code: 'EENVELOPE', command: 'RCPT TO', responseCode: 421 }, 'unavailable'],
    ['a missing greeting', { code: 'ETIMEDOUT', command: 'CONN' }, 'unavailable'],
    ['an attempt that takes too long', { code: 'EABORT' }, 'unavailable'],
    ['an unknown host', { code: 'EDNS', command: 'CONN' }, 'unavailable'],
    ['a server without TLS', { code: 'ETLS', command: 'STARTTLS', responseCode: 502 }, 'unavailable'],
  ] as const) {
    it(`${what}: ${fault}, without the recipient's address in the text`, () => {
      const error = classify(properties);
      expect(error.fault).to.equal(fault);
      expect(error.message).to.include(properties.code).and.not.include('@');
    });
  }
});
