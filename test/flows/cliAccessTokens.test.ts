import { mkdirSync, rmdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { expect } from 'chai';
import { request } from '../harness/apiClient.ts';
import { HttpFake } from '../fakes/httpFake.ts';
import { provideCliUser } from '../harness/cliSignIn.ts';
import { TestTerminal } from '../harness/cliTerminal.ts';

/** Rejection by the token endpoint, or the loss of its response after the service has executed the request. */
type Intervention = object | 'lost' | undefined;

/** The token endpoint of the service, after an intervention. */
class TokenEndpoint extends HttpFake {
  readonly forms: URLSearchParams[] = [];
  readonly #target: string;
  readonly #intervene: () => Intervention;

  /** @param intervene called before each response. */
  constructor(target: string, intervene: () => Intervention) {
    super();
    this.#target = target;
    this.#intervene = intervene;
  }

  protected async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const form = new URLSearchParams(await text(request));
    this.forms.push(form);
    const intervention = this.#intervene();
    if (typeof intervention === 'object') return void response.writeHead(400).end(JSON.stringify(intervention));
    const answer = await fetch(this.#target, { method: 'POST', body: form });
    if (intervention === 'lost') return void response.destroy();
    response.writeHead(answer.status).end(await answer.text());
  }
}

describe('the command line, signed in through the browser', () => {
  const cli = provideCliUser((user) => user.logIn());

  /** Number of refresh tokens that the customer has received. */
  const countRefreshTokens = async () =>
    (
      await cli.service.sql(
        `SELECT cast(count(*) AS int) AS n FROM oauth_refresh_tokens t JOIN oauth_grants g ON g.uuid = t.grant_uuid
           JOIN accounts a ON a.id = g.account_id WHERE a.email = $1`,
        [cli.user.customer.email],
      )
    )[0].n as number;

  const buildRejectedToken = () => cli.user.readCredentials().tokens.accessToken.replace(/.{8}$/, 'AAAAAAAA');

  /** Makes it impossible to write the file of this process that replaces the credentials. */
  const block = (): undefined => {
    mkdirSync(`${cli.user.file}.${process.pid}`);
  };
  const unblock = () => rmdirSync(`${cli.user.file}.${process.pid}`);

  /** Expires the access token, and directs its refresh to an endpoint with this intervention. */
  const expireWith = async (intervene: () => Intervention) => {
    const endpoint = await new TokenEndpoint(cli.user.readCredentials().tokens.tokenEndpoint, intervene).start();
    cli.user.changeTokens({ expiresAt: 0, tokenEndpoint: `${endpoint.url}/token` });
    return endpoint;
  };

  describe('the access token', () => {
    it('is refreshed once if several commands find it expired', async () => {
      cli.user.changeTokens({ expiresAt: Date.now() + 30_000 });
      const before = cli.user.readCredentials().tokens;
      const results = await Promise.all(Array.from({ length: 8 }, () => cli.user.run('usage')));
      expect(results.map(({ status }) => status)).to.deep.equal(Array(8).fill(0));
      expect(await countRefreshTokens()).to.equal(2);
      const { tokens } = cli.user.readCredentials();
      expect(tokens.refreshToken).to.not.equal(before.refreshToken);
      expect(tokens.expiresAt).to.be.above(Date.now() + 3_500_000);
      expect(statSync(cli.user.file).mode & 0o777).to.equal(0o600);
      expect(cli.user.listFiles()).to.deep.equal(['credentials.json']);
    });

    it('is refreshed if the service rejects it before it expires', async () => {
      cli.user.changeTokens({ accessToken: buildRejectedToken() });
      expect((await cli.user.run('usage')).status).to.equal(0);
      expect(await countRefreshTokens()).to.equal(2);
    });

    it('is refreshed again with the same refresh token if the response of the service was lost', async () => {
      const interventions: Intervention[] = ['lost', undefined];
      const endpoint = await expireWith(() => interventions.shift());
      expect((await cli.user.run('usage')).status).to.equal(0);
      expect(new Set(endpoint.forms.map((form) => form.get('refresh_token')))).to.have.lengthOf(1);
      expect(endpoint.forms).to.have.lengthOf(2);
      await endpoint.stop();
    });

    it('is refreshed although a process has left its lock behind', async () => {
      cli.user.changeTokens({ expiresAt: 0 });
      // No process has this id.
      writeFileSync(`${cli.user.file}.lock`, '999999999');
      expect((await cli.user.run('usage')).status).to.equal(0);
      cli.user.changeTokens({ expiresAt: 0 });
      writeFileSync(`${cli.user.file}.lock`, String(process.pid));
      utimesSync(`${cli.user.file}.lock`, new Date(), new Date(Date.now() - 61_000));
      expect((await cli.user.run('usage')).status).to.equal(0);
      expect(cli.user.listFiles()).to.deep.equal(['credentials.json']);
    });

    it('is not refreshed after the owner has disconnected the program, which the command says', async () => {
      await cli.service.sql(
        'UPDATE oauth_grants SET revoked_at = now() WHERE account_id = (SELECT id FROM accounts WHERE email = $1)',
        [cli.user.customer.email],
      );
      // The first request of the second command needs no token, so that the service rejects the token of its create.
      for (const command of [['usage'], ['create', 'image', 'A lighthouse']]) {
        const { status, stderr } = await cli.user.run(...command);
        expect([status, stderr]).to.deep.equal([
          3,
          'Error: The sign-in has ended. The application was disconnected. Run genmeter login.\n',
        ]);
      }
    });

    it('ends a create with a temporary error, without a charge, if it is rejected and cannot be refreshed', async () => {
      const endpoint = await expireWith(() => ({ error: 'temporarily_unavailable', error_description: 'Try later.' }));
      cli.user.changeTokens({ expiresAt: Date.now() + 3_600_000, accessToken: buildRejectedToken() });
      const { status, stderr } = await cli.user.run('create', 'image', 'A lighthouse');
      expect([status, stderr]).to.deep.equal([
        5,
        'Error: The sign-in could not be refreshed. Try later. Try again in a minute.\n',
      ]);
      await endpoint.stop();
    });

    it('is not refreshed while the next tokens cannot be stored, and the sign-in remains', async () => {
      cli.user.changeTokens({ expiresAt: 0 });
      const before = cli.user.readCredentials();
      block();
      const { status, stderr } = await cli.user.run('usage');
      expect(status).to.equal(1);
      expect(stderr).to.match(/^Error: \S+\/credentials\.json cannot be written: .*\n$/);
      expect(cli.user.readCredentials()).to.deep.equal(before);
      expect(await countRefreshTokens()).to.equal(1);
      unblock();
      expect((await cli.user.run('usage')).status).to.equal(0);
      expect(cli.user.listFiles()).to.deep.equal(['credentials.json']);
    });

    it('is used until the command ends, with a warning, if the refreshed tokens cannot be stored', async () => {
      const endpoint = await expireWith(block);
      const stored = cli.user.readCredentials();
      // Two requests.
      const { status, stderr } = await cli.user.run('create', 'image', 'A lighthouse');
      expect(status, stderr).to.equal(0);
      expect(
        stderr.match(/^The refreshed sign-in could not be stored\. .*Run genmeter login before .*$/gm),
      ).to.have.lengthOf(1);
      expect(endpoint.forms).to.have.lengthOf(1);
      expect(cli.user.readCredentials()).to.deep.equal(stored);
      unblock();
      await endpoint.stop();
    });

    it('is used, and no copy of the tokens remains, if the file cannot be replaced', async () => {
      const endpoint = await expireWith((): undefined => {
        rmSync(cli.user.file);
        mkdirSync(cli.user.file);
      });
      const { status, stderr } = await cli.user.run('usage');
      expect(status, stderr).to.equal(0);
      expect(stderr).to.include('The refreshed sign-in could not be stored');
      expect(cli.user.listFiles()).to.deep.equal(['credentials.json']);
      await endpoint.stop();
    });

    it('is requested for the REST interface, and a process that does not issue it does not end the sign-in', async () => {
      const error_description = 'resource must be /mcp of this service.';
      let rejection: object | undefined = { error: 'invalid_target', error_description };
      const endpoint = await expireWith(() => rejection);
      const stored = cli.user.readCredentials();
      const { status, stderr } = await cli.user.run('usage');
      expect([status, stderr]).to.deep.equal([
        5,
        `Error: The sign-in could not be refreshed. ${error_description} Try again in a minute.\n`,
      ]);
      expect(cli.user.readCredentials()).to.deep.equal(stored);
      rejection = undefined;
      expect((await cli.user.run('usage')).status).to.equal(0);
      expect(endpoint.forms.map((form) => form.get('resource'))).to.deep.equal(
        Array(2).fill(`${cli.service.baseUrl}/api/`),
      );
      await endpoint.stop();
    });

    it('is not waited for after an interruption, while another process refreshes it', async () => {
      cli.user.changeTokens({ expiresAt: 0 });
      writeFileSync(`${cli.user.file}.lock`, String(process.pid));
      const terminal = cli.user.createTerminal();
      setTimeout(() => terminal.interrupt(), 100);
      const startedAt = Date.now();
      expect((await terminal.run('usage')).status).to.equal(130);
      expect(Date.now() - startedAt).to.be.below(5_000);
      expect(await countRefreshTokens()).to.equal(1);
    });

    it('is used for its address with a slash at the end', async () => {
      const env = { XDG_CONFIG_HOME: cli.user.folder, GENMETER_URL: `${cli.service.baseUrl}/` };
      const { status, stderr } = await new TestTerminal(env).run('usage');
      expect(status, stderr).to.equal(0);
    });

    it('is not sent to another address, and not needed for public commands', async () => {
      const elsewhere = new TestTerminal({ XDG_CONFIG_HOME: cli.user.folder, GENMETER_URL: 'http://127.0.0.1:9' });
      expect((await elsewhere.run('usage')).stderr).to.include('There is no sign-in for http://127.0.0.1:9 yet.');
      cli.user.changeTokens({ expiresAt: 0, refreshToken: 'none' });
      expect((await cli.user.run('models')).status).to.equal(0);
    });
  });

  describe('logout', () => {
    it('ends the access at the service and deletes the file', async () => {
      const { tokens } = cli.user.readCredentials();
      const { status, stdout } = await cli.user.run('logout');
      expect([status, stdout]).to.deep.equal([0, 'Signed out. This program has no access to your account anymore.\n']);
      expect(cli.user.listFiles()).to.deep.equal([]);
      expect(await cli.user.listActiveGrants()).to.deep.equal([]);
      const headers = { authorization: `Bearer ${tokens.accessToken}` };
      expect((await request(cli.service.baseUrl, 'GET', '/api/ledger/', { headers })).status).to.equal(401);
      expect((await cli.user.run('usage')).status).to.equal(3);
      expect((await cli.user.run('logout')).stdout).to.equal('Not signed in.\n');
    });

    it('deletes a damaged file and says where to end access of both kinds', async () => {
      writeFileSync(cli.user.file, '{"url":');
      const { status, stdout } = await cli.user.run('logout');
      expect([status, stdout]).to.deep.equal([
        0,
        'Signed out on this machine. The deleted file could not be read. ' +
          'If it contained an API key, the key remains valid until you revoke it on the account page. ' +
          'If you had signed in through the browser, disconnect this program on the page /account/applications/ of the service.\n',
      ]);
      expect(cli.user.listFiles()).to.deep.equal([]);
    });

    it('deletes the file and says where to end the access if the service does not respond', async () => {
      cli.user.changeTokens({ revocationEndpoint: 'http://127.0.0.1:9/revoke' });
      const { status, stderr } = await cli.user.run('logout');
      expect(status).to.equal(5);
      expect(stderr)
        .to.include('Signed out on this machine, but the access of this program could not be ended.')
        .and.match(
          new RegExp(`To end it, disconnect it on this page: ${cli.service.baseUrl}/account/applications/\n$`),
        );
      expect(cli.user.listFiles()).to.deep.equal([]);
    });
  });
});
