import { expect } from 'chai';
import { getRequiredAccess } from '../../api/pipeline/route.ts';
import { requestAccountDeletion } from '../../shared/domain/privacy/deletion.ts';
import { buildServiceCaller } from '../../shared/domain/accounts/caller.ts';
import { SERVICE_ORIGIN } from '../../shared/domain/accounts/securityEvents.ts';
import { suspendAccount, reinstateAccount } from '../../shared/domain/staff/suspension.ts';
import { type ApiResponse, IMAGE, request, TestCustomer } from '../harness/apiClient.ts';
import { createBrowserFor } from '../harness/httpBrowser.ts';
import { expectError } from '../harness/errorEnvelope.ts';
import { openMcpSession, postMcp, INITIALIZE } from '../harness/mcpClient.ts';
import {
  createPkce,
  decodeClaims,
  loadConsentPage,
  type OAuthTestClient,
  registerClient,
} from '../harness/oauthClient.ts';
import { expectOAuthError } from '../harness/oauthErrors.ts';
import { getAccountId } from '../harness/outbox.ts';
import { buildPath, filterRoutes, isChange, VALID_BODIES } from '../harness/routes.ts';
import { setAllModelsOnline } from '../harness/seeds.ts';
import { useTestService } from '../harness/testService.ts';

const SCOPES: Record<string, readonly string[]> = {
  'a token for svc:read': ['svc:read'],
  'a token for svc:write': ['svc:write'],
  'a token for both scopes': ['svc:read', 'svc:write'],
};

/** Remaining requests of the limit that counted a request. */
const remaining = ({ headers }: ApiResponse) => Number(/r=(\d+)/.exec(headers.get('ratelimit') ?? '')?.[1]);

describe('access tokens on the REST interface', () => {
  const service = useTestService({
    workers: 0,
    env: { RATE_LIMITS: 'on', RATE_OAUTH_PER_MINUTE: '1000', RATE_PUBLIC_PER_MINUTE: '1000' },
  });
  let client: OAuthTestClient;
  let owner: TestCustomer;
  before(async () => {
    await setAllModelsOnline(service);
    client = await registerClient(service.baseUrl, { client_name: 'Desk program' });
    owner = await service.createCustomer('studio');
  });

  const api = () => `${service.baseUrl}/api/`;
  const metadata = () => `resource_metadata="${service.baseUrl}/.well-known/oauth-protected-resource/api"`;
  const connect = (customer: TestCustomer, scope = 'svc:read svc:write', resource: string | undefined = api()) =>
    client.authorizeAndExchange(customer, { scope, resource });
  /** The customer with an access token in place of the key. */
  const withToken = ({ email, cookie }: TestCustomer, token: string) =>
    new TestCustomer(service.baseUrl, email, cookie, token);
  const openApplication = async (customer: TestCustomer, scope?: string): Promise<TestCustomer> =>
    withToken(customer, (await connect(customer, scope)).access_token);
  function expectChallenge(response: ApiResponse, says: RegExp): void {
    expectError(response, 'invalid_api_key');
    expect(response.body.detail).to.match(says);
    expect(response.headers.get('www-authenticate')).to.equal(
      `Bearer ${metadata()}, error="invalid_token", scope="svc:read svc:write"`,
    );
  }

  describe('have one audience', () => {
    it('the metadata of the resource names the address and this authorization server, with and without a slash', async () => {
      for (const path of ['/.well-known/oauth-protected-resource/api', '/.well-known/oauth-protected-resource/api/']) {
        const { status, body } = await request(service.baseUrl, 'GET', path);
        expect([status, body]).to.deep.equal([
          200,
          {
            resource: api(),
            authorization_servers: [service.baseUrl],
            scopes_supported: ['svc:read', 'svc:write'],
            bearer_methods_supported: ['header'],
            resource_name: 'genmeter',
          },
        ]);
      }
    });

    it('a token for /api/ is accepted by REST and rejected by /mcp', async () => {
      const { access_token: token } = await connect(owner);
      expect(decodeClaims(token)).to.include({ aud: api(), iss: service.baseUrl, client_id: client.clientId });
      const program = withToken(owner, token);
      expect((await program.request('GET', '/api/usage/summary/')).status).to.equal(200);
      const rejected = await postMcp(program, INITIALIZE);
      expectError(rejected, 'invalid_api_key', ` is not for ${service.baseUrl}/mcp but for ${api()} instead.`);
      expect(rejected.headers.get('www-authenticate')).to.include(
        `resource_metadata="${service.baseUrl}/.well-known/oauth-protected-resource", error="invalid_token"`,
      );
    });

    it('a token for /mcp, which is the default, is rejected by REST and accepted by /mcp', async () => {
      for (const resource of [undefined, `${service.baseUrl}/mcp`]) {
        const assistant = withToken(owner, (await client.authorizeAndExchange(owner, { resource })).access_token);
        expect(decodeClaims(assistant.key).aud).to.equal(`${service.baseUrl}/mcp`);
        expectChallenge(await assistant.request('GET', '/api/usage/summary/'), /not for .*\/api\/ but for .*\/mcp /);
        expect(await openMcpSession(assistant)).to.be.an('object');
      }
    });

    it('a refresh keeps the audience, and neither it nor an exchange can change it', async () => {
      const { refresh_token: refreshToken } = await connect(owner);
      expectOAuthError(await client.refresh(refreshToken, { resource: `${service.baseUrl}/mcp` }), 'invalid_target');
      const same = await client.refresh(refreshToken, { resource: `${service.baseUrl}/api` });
      expect(decodeClaims(same.body.access_token).aud).to.equal(api());
      const next = await client.refresh(same.body.refresh_token);
      expect(decodeClaims(next.body.access_token).aud).to.equal(api());

      const { verifier, challenge } = createPkce();
      const code = (await client.authorize(owner, challenge, { resource: api() })).get('code') as string;
      expectOAuthError(
        await client.exchangeCode(code, verifier, { resource: `${service.baseUrl}/mcp` }),
        'invalid_target',
      );
    });

    it('a request for both resources is rejected with invalid_target', async () => {
      const { challenge } = createPkce();
      const path = `${client.authorizePath(challenge, { resource: api() })}&resource=${service.baseUrl}/mcp`;
      const { headers } = await request(service.baseUrl, 'GET', path, { headers: { cookie: owner.cookie } });
      expect(new URL(headers.get('location') as string).searchParams.get('error')).to.equal('invalid_target');
    });
  });

  it('the consent page and the list of applications say what a program may do over REST', async () => {
    const page = await loadConsentPage(
      service.baseUrl,
      owner,
      client.authorizePath(createPkce().challenge, { resource: api() }),
    );
    expect(page.body).to.include('Create, cancel and delete images and videos');
    const customer = await service.createCustomer(null);
    await openApplication(customer);
    const { text } = await createBrowserFor(customer).request(`${service.baseUrl}/account/applications/`);
    expect(text).to.include('create, cancel and delete images and videos');
  });

  describe('with scopes', () => {
    const programs = new Map<string, TestCustomer>();
    before(async () => {
      for (const [kind, scopes] of Object.entries(SCOPES))
        programs.set(kind, await openApplication(owner, scopes.join(' ')));
    });

    for (const [kind, scopes] of Object.entries(SCOPES)) {
      for (const row of filterRoutes('key/cookie', 'staff')) {
        const access = getRequiredAccess(row.served) as string;
        it(`${row.name} ${scopes.includes(access) ? 'admits' : 'rejects'} ${kind}`, async () => {
          const body = VALID_BODIES[row.name] ?? {};
          const options = isChange(row) ? { body } : {};
          const response = await (programs.get(kind) as TestCustomer).request(row.method, buildPath(row), options);
          if (scopes.includes(access)) {
            expect([401, 403]).to.not.include(response.status);
            return;
          }
          expectError(response, 'insufficient_scope');
          expect(response.headers.get('www-authenticate')).to.equal(
            access.startsWith('svc:')
              ? `Bearer error="insufficient_scope", scope="svc:read svc:write", ${metadata()}`
              : null,
          );
        });
      }
    }

    it('a route for the whole account says that no connection allows it', async () => {
      const { body } = await (programs.get('a token for both scopes') as TestCustomer).request('GET', '/api/keys/');
      expect(body.detail).to.equal(
        `This request requires access to the whole account, but this access token has only svc:read and svc:write. Use an API key, or open ${service.baseUrl}/account/ in a browser.`,
      );
    });
  });

  describe('end', () => {
    it('when the account is deleted; a suspended one gets 403 account_suspended until it is reinstated', async () => {
      const customer = await service.createCustomer();
      const program = await openApplication(customer);
      const accountId = await getAccountId(service, customer);
      const actor = { kind: 'system', systemUser: 'test', reason: 'chargebacks' } as const;
      await suspendAccount(accountId, actor);
      expectError(await program.request('GET', '/api/ledger/'), 'account_suspended');
      expectError(await program.createGeneration(IMAGE), 'account_suspended');
      await reinstateAccount(accountId, actor);
      expect((await program.createGeneration(IMAGE)).status).to.equal(201);
      await requestAccountDeletion(buildServiceCaller(accountId), customer.email, SERVICE_ORIGIN);
      expectChallenge(await program.createGeneration(IMAGE), /disconnected/);
    });
  });

  it('idempotency keys and rate limits are those of the account, whatever the credential', async () => {
    const customer = await service.createCustomer();
    const program = await openApplication(customer);
    const options = { body: { ...IMAGE, prompt: 'once' }, headers: { 'idempotency-key': 'order-1' } };
    const first = await customer.request('POST', '/api/generations/create/', options);
    const again = await program.request('POST', '/api/generations/create/', options);
    expect([again.status, again.body.uuid]).to.deep.equal([201, first.body.uuid]);
    expect(again.headers.get('idempotent-replayed')).to.equal('true');
    expect(remaining(again)).to.equal(remaining(first) - 1);
  });

  it('a token and a session must belong to the same account', async () => {
    const program = await openApplication(owner);
    const stranger = await service.createCustomer(null);
    const response = await program.request('GET', '/api/ledger/', { headers: { cookie: stranger.cookie } });
    expectError(response, 'invalid_api_key');
    expect(response.body.detail).to.include('different accounts');
    // The token restricts the request, although the session has all rights.
    const both = await program.request('GET', '/api/keys/', { headers: { cookie: owner.cookie } });
    expectError(both, 'insufficient_scope');
  });

  it('other credentials get the 401 that they have always got', async () => {
    for (const credential of ['x', 'a.b.c', 'svc_short', 'eyJhbGciOiJub25lIn0..', `svc_${'0'.repeat(40)}`]) {
      const response = await withToken(owner, credential).request('GET', '/api/ledger/');
      expectError(response, 'invalid_api_key');
      expect(response.headers.get('www-authenticate'), credential).to.equal('Bearer');
      expect(response.body.detail).to.match(/^(An|The) API key is /);
    }
    // A token belongs into the Authorization header.
    const { access_token: token } = await connect(owner);
    const inHeader = await request(service.baseUrl, 'GET', '/api/ledger/', { headers: { 'x-api-key': token } });
    expect([inHeader.status, inHeader.headers.get('www-authenticate')]).to.deep.equal([401, 'Bearer']);
  });
});
