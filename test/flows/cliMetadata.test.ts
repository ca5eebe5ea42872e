import type { IncomingMessage, ServerResponse } from 'node:http';
import { expect } from 'chai';
import { discover } from '../../packages/cli/src/oauth/server.ts';
import { HttpFake } from '../fakes/httpFake.ts';
import { TestTerminal } from '../harness/cliTerminal.ts';
import { useFolder } from '../harness/useFolder.ts';

/** Builds the metadata of the authorization server of a service. */
const describeServer = (url: string): Record<string, string> => ({
  issuer: url,
  authorization_endpoint: `${url}/authorize`,
  token_endpoint: `${url}/token`,
  revocation_endpoint: `${url}/revoke`,
});

/** A service that is not ours, with addresses of its choice in the metadata. */
class ForeignService extends HttpFake {
  changes: Record<string, string> = {};
  /** Requests for other paths than those of metadata. */
  otherRequests = 0;

  answer(path: string): unknown {
    if (path.includes('protected-resource'))
      return { resource: `${this.url}/api/`, authorization_servers: [this.changes['issuer'] ?? this.url] };
    if (!path.startsWith('/.well-known/')) this.otherRequests += 1;
    return { ...describeServer(this.url), ...this.changes };
  }

  protected handle(request: IncomingMessage, response: ServerResponse): void {
    response.end(JSON.stringify(this.answer(request.url as string)));
  }
}

const ADVICE = 'The sign-in was not started. Check the address of the service, or run genmeter login --key.';

describe('the metadata of the service that the command line signs in to', () => {
  const service = new ForeignService();
  const folder = useFolder({ isCleared: true });

  before(() => service.start());
  after(() => service.stop());
  beforeEach(() => {
    service.otherRequests = 0;
  });

  const logIn = async (changes: Record<string, string>) => {
    service.changes = changes;
    const terminal = new TestTerminal({ XDG_CONFIG_HOME: folder });
    return { terminal, ...(await terminal.run('login', '--url', service.url, '--timeout', '1')) };
  };

  it('cannot make it open, print or request anything but web addresses of the issuer', async () => {
    const cases = [
      ['authorization_endpoint', 'file:///etc/passwd', 'file:///etc/passwd', 'an https address'],
      ['authorization_endpoint', 'ms-msdt:/id', 'ms-msdt:/id', 'an https address'],
      ['authorization_endpoint', `blob:${service.url}/x`, `blob:${service.url}/x`, 'an https address'],
      ['authorization_endpoint', '--help', '--help', 'an https address'],
      ['authorization_endpoint', 'x\u001b[2J\u009b1m\nfile:', 'x [2J 1m file:', 'an https address'],
      [
        'authorization_endpoint',
        'https://elsewhere.example/\u001b[2J',
        'https://elsewhere.example/%1B[2J',
        `an address of ${service.url} as it should be`,
      ],
      [
        'token_endpoint',
        'http://127.0.0.1:9/token',
        'http://127.0.0.1:9/token',
        `an address of ${service.url} as it should be`,
      ],
      ['revocation_endpoint', 'data:text/plain,x', 'data:text/plain,x', 'an https address'],
    ] as const;
    for (const [field, address, printed, expected] of cases) {
      const { terminal, status, stderr } = await logIn({ [field]: address });
      expect([status, stderr]).to.deep.equal([
        1,
        `Error: In the metadata of the service, ${field} (${printed}) is not ${expected}. ${ADVICE}\n`,
      ]);
      expect(terminal.opened).to.deep.equal([]);
    }
    const { status, stderr } = await logIn({ issuer: 'file:///etc' });
    expect([status, stderr]).to.deep.equal([
      1,
      `Error: In the metadata of the service, authorization_servers (file:///etc) is not an https address. ${ADVICE}\n`,
    ]);
    expect(service.otherRequests).to.equal(0);
  });

  it('cannot make it print control characters, and a query of the authorization endpoint is kept', async () => {
    const { terminal, status, stderr } = await logIn({
      authorization_endpoint: `${service.url}/a\u001b]0;b\u0007\u009bc?tenant=\u001b1#fragment`,
    });
    expect(status, stderr).to.equal(3);
    expect(stderr.replaceAll('\n', '')).to.not.match(/\p{Cc}/u);
    const [opened = ''] = terminal.opened;
    expect(stderr).to.include(`\n${opened}\n`);
    expect(opened).to.match(/\/a%1B\]0;b%07%C2%9Bc\?tenant=%1B1&response_type=code&/);
  });

  describe('of a service with https', () => {
    const { fetch } = globalThis;
    let metadata: Record<string, string>;

    before(() => {
      globalThis.fetch = async (address) =>
        Response.json(
          (address as string).includes('protected-resource')
            ? { resource: 'https://api.example.com/api/', authorization_servers: [metadata['issuer']] }
            : metadata,
        );
    });
    after(() => {
      globalThis.fetch = fetch;
    });

    const findProblem = (issuer: string, changes: Record<string, string> = {}) => {
      metadata = { ...describeServer(issuer), ...changes };
      return discover('https://api.example.com').then(
        () => 'none',
        ({ message }: Error) => message,
      );
    };

    it('must name addresses with https, except on this machine', async () => {
      for (const issuer of [
        'https://api.example.com',
        'https://accounts.example.com',
        'http://localhost:3000',
        'http://127.0.0.1:3000',
        'http://[::1]:3000',
      ])
        expect(await findProblem(issuer), issuer).to.equal('none');
      for (const issuer of ['http://api.example.com', 'http://127.0.0.1.example.com', 'http://localhost.example.com'])
        expect(await findProblem(issuer), issuer).to.equal(
          `In the metadata of the service, authorization_servers (${issuer}/) is not an https address. ${ADVICE}`,
        );
      const plain = { token_endpoint: 'http://api.example.com/token' };
      expect(await findProblem('https://api.example.com', plain)).to.include(
        'token_endpoint (http://api.example.com/token) is not an https address',
      );
    });
  });
});
