import { expect } from 'chai';
import { parseWebhookUrl } from '../../shared/domain/webhooks/webhookUrl.ts';
import { ServiceError } from '../../shared/spec/errors.ts';
import { PRODUCTION_ENV, setTestConfig } from '../harness/testConfig.ts';

function findProblem(address: string, field?: string): string {
  try {
    expect(parseWebhookUrl(address, field)).to.equal(address);
    return '';
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    expect([error.code, error.field]).to.deep.equal(['validation_error', field ?? 'url']);
    return error.message;
  }
}

describe('the address of a webhook', () => {
  beforeEach(() => setTestConfig());

  for (const address of [
    'https://example.com',
    'https://example.com:8443/a/b?token=c&d=%20',
    'HTTPS://Example.com/',
    'https://bücher.example/',
    'https://93.184.216.34/',
    'https://[2606:2800:220:1:248:1893:25c8:1946]/',
    'http://example.com/',
    `https://example.com/${'a'.repeat(1_980)}`,
  ]) {
    it(`may be ${address.slice(0, 60)}`, () => {
      expect(findProblem(address)).to.equal('');
    });
  }

  it('may contain umlauts also after the engine has optimized the check', () => {
    for (let call = 0; call < 50_000; call += 1) parseWebhookUrl('https://bücher.example/');
  });

  for (const [address, problem] of [
    ['example.com', 'such as'],
    ['https:example.com', 'such as'],
    ['//example.com', 'such as'],
    ['ftp://example.com/', 'such as'],
    ['javascript:alert(1)', 'such as'],
    ['https://', 'such as'],
    ['https://exa mple.com/', 'such as'],
    ['https://example.com/\n', 'such as'],
    [' https://example.com/', 'such as'],
    ['https://exa\tmple.com/', 'such as'],
    ['https://example.com:99999/', 'such as'],
    ['https://user@example.com/', 'user name'],
    ['https://user:password@example.com/', 'user name'],
    ['https://:password@example.com/', 'user name'],
    ['https://example.com/#', 'fragment'],
    ['https://example.com/#a', 'fragment'],
    [`https://example.com/${'a'.repeat(1_981)}`, '2000 characters'],
    ['https://localhost/', 'public host'],
    ['https://LOCALHOST:3000/', 'public host'],
    ['https://localhost./', 'public host'],
    ['https://a.localhost/', 'public host'],
    ['https://127.0.0.1/', 'public host'],
    ['https://127.1/', 'public host'],
    ['https://127.0.0.1./', 'public host'],
    ['https://0x7f000001/', 'public host'],
    ['https://2130706433/', 'public host'],
    ['https://10.0.0.8/', 'public host'],
    ['https://169.254.169.254/latest/meta-data/', 'public host'],
    ['https://0.0.0.0/', 'public host'],
    ['https://[::1]/', 'public host'],
    ['https://[::ffff:10.0.0.8]/', 'public host'],
    ['https://[fd00::1]/', 'public host'],
    ['https://１２７.0.0.1/', 'public host'],
  ] as const) {
    it(`must not be ${JSON.stringify(address).slice(0, 60)}`, () => {
      expect(findProblem(address))
        .to.match(/^url must .+\.$/)
        .and.include(problem);
    });
  }

  it('is named by the field of the request', () => {
    expect(findProblem('x', 'webhook_url')).to.match(/^webhook_url must /);
  });

  it('may be private with WEBHOOK_ADDRESSES=any', () => {
    setTestConfig({ WEBHOOK_ADDRESSES: 'any' });
    for (const address of ['http://127.0.0.1:8080/', 'http://localhost/', 'http://[::1]/'])
      expect(findProblem(address)).to.equal('');
    expect(findProblem('http://user@localhost/')).to.include('user name');
  });

  it('must begin with https in production', () => {
    setTestConfig(PRODUCTION_ENV);
    expect(findProblem('http://example.com/')).to.include('https://');
    expect(findProblem('https://example.com/')).to.equal('');
  });
});
