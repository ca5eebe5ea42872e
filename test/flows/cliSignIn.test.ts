import { createServer } from 'node:http';
import { statSync } from 'node:fs';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { request } from '../harness/apiClient.ts';
import { provideCliUser } from '../harness/cliSignIn.ts';
import { createPkce, decodeClaims, loadConsentPage, registerClient } from '../harness/oauthClient.ts';

describe('signing in to the command line through the browser', () => {
  const cli = provideCliUser();
  const readPage = async (path: string): Promise<string> =>
    (await loadConsentPage(cli.service.baseUrl, cli.user.customer, path)).body;

  it('opens the consent page, stores tokens for its owner only, and commands use them', async () => {
    const login = await cli.user.startLogin();
    expect(login.terminal.opened).to.deep.equal([login.address.href]);
    const redirectUri = login.address.searchParams.get('redirect_uri') as string;
    expect(redirectUri).to.match(/^http:\/\/127\.0\.0\.1:\d+\/callback$/);
    const response = await fetch(await cli.user.decide(login));
    expect([response.status, await response.text()].join(' '))
      .to.include('200')
      .and.include('Return to the terminal');
    const { status, stdout, stderr } = await login.result;
    expect(status, stderr).to.equal(0);
    expect(stdout).to.equal(
      `Signed in to ${cli.service.baseUrl} with a balance of 1100 credits.\nStored in ${cli.user.file}\n`,
    );
    const { url, tokens } = cli.user.readCredentials();
    expect(url).to.equal(cli.service.baseUrl);
    expect(decodeClaims(tokens.accessToken)).to.include({
      aud: `${cli.service.baseUrl}/api/`,
      client_id: 'genmeter-cli',
    });
    expect(statSync(cli.user.file).mode & 0o777).to.equal(0o600);
    expect(cli.user.listFiles()).to.deep.equal(['credentials.json']);
    // The port is closed.
    expect(await fetch(redirectUri).then(String, () => 'closed')).to.equal('closed');

    expect((await cli.user.run('create', 'image', 'A lighthouse')).status).to.equal(0);
    expect(await cli.user.customer.balance()).to.equal(1_092);
    expect((await cli.user.run('usage', '--by-key')).status).to.equal(0);
    const topup = cli.user.createTerminal();
    await topup.run('topup', '50', '--open');
    const billing = `${cli.service.baseUrl}/account/billing/`;
    expect([topup.opened, topup.stdout]).to.deep.equal([
      [billing],
      `This sign-in cannot start a payment. Buy the credits on this page: ${billing}\n`,
    ]);
    const keys = await cli.user.run('keys');
    expect([keys.status, keys.stderr]).to.deep.equal([
      1,
      keys.stderr.match(/^Error: This request requires access to the whole account, .*\n$/)?.[0],
    ]);
  });

  it('prints the address only with --no-browser', async () => {
    const login = await cli.user.startLogin('--no-browser', '--json');
    expect(login.terminal.opened).to.deep.equal([]);
    await fetch(await cli.user.decide(login));
    const { status, stdout } = await login.result;
    expect([status, JSON.parse(stdout)]).to.deep.equal([
      0,
      { url: cli.service.baseUrl, file: cli.user.file, plan: 'pro', balance: 1_100 },
    ]);
  });

  it('observes the spending limit of the consent page, with status 4', async () => {
    await cli.user.logIn({ limit_credits: '8', limit_period: 'day' });
    expect((await cli.user.run('create', 'image', 'A lighthouse')).status).to.equal(0);
    const { status, stderr } = await cli.user.run('create', 'image', 'A lighthouse', '--json');
    expect([status, JSON.parse(stderr).error]).to.deep.equal([4, 'spending_limit_reached']);
  });

  describe('stores nothing', () => {
    afterEach(() => expect(cli.user.listFiles()).to.deep.equal([]));

    it('if the user denies the access', async () => {
      const login = await cli.user.startLogin();
      await fetch(await cli.user.decide(login, 'deny'));
      const { status, stderr } = await login.result;
      expect([status, stderr.split('\n').at(-2)]).to.deep.equal([
        3,
        'Error: The access was denied in the browser. Nothing was stored.',
      ]);
    });

    it('if the browser does not return in time', async () => {
      const { status, stderr } = await (await cli.user.startLogin('--timeout', '1')).result;
      expect([status, stderr.split('\n').at(-2)]).to.deep.equal([
        3,
        'Error: There was no answer within 1 s. Run genmeter login again, or genmeter login --key.',
      ]);
    });

    it('if it is interrupted', async () => {
      const login = await cli.user.startLogin();
      login.terminal.interrupt();
      expect((await login.result).status).to.equal(130);
    });

    it('if the answer names another server, and the code is not sent', async () => {
      for (const iss of ['https://elsewhere.example', null]) {
        const login = await cli.user.startLogin();
        const answer = await cli.user.decide(login);
        if (iss === null) answer.searchParams.delete('iss');
        else answer.searchParams.set('iss', iss);
        await fetch(answer);
        const { status, stderr } = await login.result;
        expect([status, stderr.split('\n').at(-2)]).to.deep.equal([
          1,
          `Error: The answer comes from another server than ${cli.service.baseUrl} and was ignored. Nothing was stored.`,
        ]);
      }
      expect(await cli.user.listActiveGrants()).to.deep.equal([]);
    });

    it('if the service rejects the code', async () => {
      const login = await cli.user.startLogin();
      const answer = await cli.user.decide(login);
      answer.searchParams.set('code', '0'.repeat(64));
      await fetch(answer);
      const { status, stderr } = await login.result;
      expect(status).to.equal(1);
      expect(stderr).to.include('Error: The sign-in failed: The code is unknown');
    });

    it('if nothing listens at the address, with status 5', async () => {
      const { status, stderr } = await cli.user.run('login', '--url', 'http://127.0.0.1:9');
      expect(status).to.equal(5);
      expect(stderr).to.match(/^Error: No response from http:\/\/127\.0\.0\.1:9\/.*\n$/);
    });

    it('if the service has no such sign-in, or another address', async () => {
      const old = createServer((_request, response) => response.writeHead(404).end('{}')).listen(0, '127.0.0.1');
      await once(old, 'listening');
      const url = `http://127.0.0.1:${(old.address() as AddressInfo).port}`;
      const { status, stderr } = await cli.user.run('login', '--url', url);
      expect([status, stderr]).to.deep.equal([
        1,
        `Error: ${url} does not offer a sign-in through the browser. Run genmeter login --key.\n`,
      ]);
      old.close();
      const other = cli.service.baseUrl.replace('127.0.0.1', 'localhost');
      expect(other).to.not.equal(cli.service.baseUrl);
      const moved = await cli.user.run('login', '--url', other);
      expect([moved.status, moved.stderr]).to.deep.equal([
        2,
        `Error: This service has another address. Run: genmeter login --url ${cli.service.baseUrl}\n`,
      ]);
    });
  });

  it('ignores requests to its port that do not carry the state of this sign-in', async () => {
    const login = await cli.user.startLogin();
    const answer = await cli.user.decide(login);
    for (const change of [
      (url: URL) => url.searchParams.set('state', 'another'),
      (url: URL) => url.searchParams.delete('state'),
      (url: URL) => (url.pathname = '/favicon.ico'),
    ]) {
      const forged = new URL(answer);
      change(forged);
      expect((await fetch(forged)).status).to.equal(404);
    }
    expect((await fetch(answer, { method: 'POST' })).status).to.equal(404);
    expect((await fetch(answer)).status).to.equal(200);
    expect((await login.result).status).to.equal(0);
  });

  it('a second sign-in ends the first, and a key ends it as well', async () => {
    await cli.user.logIn();
    await cli.user.logIn();
    expect(await cli.user.listActiveGrants()).to.deep.equal([
      { client_id: 'genmeter-cli', resource: `${cli.service.baseUrl}/api/` },
    ]);
    const terminal = cli.user.createTerminal();
    terminal.secret = cli.user.customer.key;
    expect((await terminal.run('login', '--key')).status).to.equal(0);
    expect(cli.user.readCredentials()).to.deep.equal({ url: cli.service.baseUrl, key: cli.user.customer.key });
    expect(await cli.user.listActiveGrants()).to.deep.equal([]);
  });

  describe('as a client that the service knows', () => {
    const OWN = 'The program <code>genmeter</code> of <strong>genmeter</strong>, on this computer.';

    it('is named as the program of the service on the consent page, and never as verified', async () => {
      const login = await cli.user.startLogin();
      const page = await readPage(login.address.pathname + login.address.search);
      expect(page).to.include('Connect genmeter command line?').and.include(OWN).and.not.include('erified');
      login.terminal.interrupt();
      await login.result;
    });

    it('is not the application that registers its name, its id or its address', async () => {
      const { challenge } = createPkce();
      const client = await registerClient(cli.service.baseUrl, {
        client_id: 'genmeter-cli',
        client_name: 'genmeter command line',
        redirect_uris: ['http://127.0.0.1/callback'],
      });
      expect(client.clientId).to.not.equal('genmeter-cli');
      const page = await readPage(client.authorizePath(challenge));
      expect(page).to.include('>Not verified</span>').and.not.include(OWN);
    });

    it('receives codes at loopback addresses only', async () => {
      const login = await cli.user.startLogin();
      for (const address of ['https://127.0.0.1/callback', 'http://127.0.0.1/other', 'https://evil.example/callback']) {
        login.address.searchParams.set('redirect_uri', address);
        const { status, body } = await request(
          cli.service.baseUrl,
          'GET',
          login.address.pathname + login.address.search,
          { headers: { cookie: cli.user.customer.cookie } },
        );
        expect([status, body.includes('redirect_uri is not one')], address).to.deep.equal([400, true]);
      }
      login.terminal.interrupt();
      await login.result;
    });

    it('can be signed out after its row was deleted', async () => {
      await cli.user.logIn();
      await cli.service.sql(`DELETE FROM oauth_grants WHERE client_id = 'genmeter-cli'`);
      await cli.service.sql(`DELETE FROM oauth_clients WHERE client_id = 'genmeter-cli'`);
      expect((await cli.user.run('usage')).status).to.equal(3);
      expect((await cli.user.run('logout')).status).to.equal(0);
      await cli.user.logIn();
      expect((await cli.user.run('usage')).status).to.equal(0);
    });
  });
});
