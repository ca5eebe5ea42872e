import { statSync, utimesSync, writeFileSync } from 'node:fs';
import { expect } from 'chai';
import { request } from '../harness/apiClient.ts';
import { CliUser } from '../harness/cliSignIn.ts';
import { TestTerminal } from '../harness/cliTerminal.ts';
import { startTestService, type TestService } from '../harness/testService.ts';

describe('the command line, signed in through the browser', () => {
  let service: TestService;
  let user: CliUser;

  before(async () => {
    service = await startTestService({ workers: 0 });
  });
  after(() => service.stop());
  beforeEach(async () => {
    user = new CliUser(service, await service.createCustomer());
    await user.logIn();
  });
  afterEach(() => user.remove());

  /** Number of refresh tokens that the customer has received. */
  const countRefreshTokens = async () =>
    (
      await service.sql(
        `SELECT cast(count(*) AS int) AS n FROM oauth_refresh_tokens t JOIN oauth_grants g ON g.uuid = t.grant_uuid
           JOIN accounts a ON a.id = g.account_id WHERE a.email = $1`,
        [user.customer.email],
      )
    )[0].n as number;

  describe('the access token', () => {
    it('is refreshed once if several commands find it expired', async () => {
      user.changeTokens({ expiresAt: Date.now() + 30_000 });
      const before = user.readCredentials().tokens;
      const results = await Promise.all(Array.from({ length: 8 }, () => user.run('usage')));
      expect(results.map(({ status }) => status)).to.deep.equal(Array(8).fill(0));
      expect(await countRefreshTokens()).to.equal(2);
      const { tokens } = user.readCredentials();
      expect(tokens.refreshToken).to.not.equal(before.refreshToken);
      expect(tokens.expiresAt).to.be.above(Date.now() + 3_500_000);
      expect(statSync(user.file).mode & 0o777).to.equal(0o600);
      expect(user.listFiles()).to.deep.equal(['credentials.json']);
    });

    it('is refreshed if the service rejects it before it expires', async () => {
      user.changeTokens({ accessToken: user.readCredentials().tokens.accessToken.replace(/.{8}$/, 'AAAAAAAA') });
      expect((await user.run('usage')).status).to.equal(0);
      expect(await countRefreshTokens()).to.equal(2);
    });

    it('is refreshed although a process has left its lock behind', async () => {
      user.changeTokens({ expiresAt: 0 });
      // No process has this id.
      writeFileSync(`${user.file}.lock`, '999999999');
      expect((await user.run('usage')).status).to.equal(0);
      user.changeTokens({ expiresAt: 0 });
      writeFileSync(`${user.file}.lock`, String(process.pid));
      utimesSync(`${user.file}.lock`, new Date(), new Date(Date.now() - 61_000));
      expect((await user.run('usage')).status).to.equal(0);
      expect(user.listFiles()).to.deep.equal(['credentials.json']);
    });

    it('is not refreshed after the owner has disconnected the program, which the command says', async () => {
      await service.sql(
        'UPDATE oauth_grants SET revoked_at = now() WHERE account_id = (SELECT id FROM accounts WHERE email = $1)',
        [user.customer.email],
      );
      const { status, stderr } = await user.run('usage');
      expect([status, stderr]).to.deep.equal([
        3,
        'Error: The sign-in has ended. The application was disconnected. Run genmeter login.\n',
      ]);
    });

    it('is not sent to another address, and not needed for public commands', async () => {
      const elsewhere = new TestTerminal({ XDG_CONFIG_HOME: user.folder, GENMETER_URL: 'http://127.0.0.1:9' });
      expect((await elsewhere.run('usage')).stderr).to.include('no API key for http://127.0.0.1:9');
      user.changeTokens({ expiresAt: 0, refreshToken: 'none' });
      expect((await user.run('models')).status).to.equal(0);
    });
  });

  describe('logout', () => {
    it('ends the access at the service and deletes the file', async () => {
      const { tokens } = user.readCredentials();
      const { status, stdout } = await user.run('logout');
      expect([status, stdout]).to.deep.equal([0, 'Signed out. This program has no access to your account anymore.\n']);
      expect(user.listFiles()).to.deep.equal([]);
      expect(await user.listActiveGrants()).to.deep.equal([]);
      const headers = { authorization: `Bearer ${tokens.accessToken}` };
      expect((await request(service.baseUrl, 'GET', '/api/ledger/', { headers })).status).to.equal(401);
      expect((await user.run('usage')).status).to.equal(3);
      expect((await user.run('logout')).stdout).to.equal('Not signed in.\n');
    });

    it('deletes the file and says where to end the access if the service does not respond', async () => {
      user.changeTokens({ revocationEndpoint: 'http://127.0.0.1:9/revoke' });
      const { status, stderr } = await user.run('logout');
      expect(status).to.equal(5);
      expect(stderr)
        .to.include('Signed out on this machine, but the access of this program could not be ended.')
        .and.include(`Disconnect it at ${service.baseUrl}/account/applications/.`);
      expect(user.listFiles()).to.deep.equal([]);
    });
  });
});
