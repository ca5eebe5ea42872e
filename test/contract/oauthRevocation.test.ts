import { expect } from 'chai';
import type { TestCustomer } from '../harness/apiClient.ts';
import { createPkce, OAuthTestClient, postUrlEncoded, REDIRECT_URI, registerClient } from '../harness/oauthClient.ts';
import { expectOAuthError } from '../harness/oauthErrors.ts';
import { useTestService } from '../harness/testService.ts';

/** Reads the applications from their page, each with the path that disconnects it. */
const listApplications = async (someone: TestCustomer): Promise<{ page: string; path: string; token: string }[]> => {
  const page = await someone.requestWithSession('GET', '/account/applications/');
  const token = /name="csrf_token" value="([^"]+)"/.exec(page.body)?.[1] ?? '';
  return [...page.body.matchAll(/href="(\/account\/applications\/[^"]+\/end\/)"/g)].map(([, path]) => ({
    page: page.body,
    path: path as string,
    token,
  }));
};

describe('OAuth revocation', () => {
  const service = useTestService({ workers: 0 });
  let client: OAuthTestClient;
  let customer: TestCustomer;
  before(async () => {
    client = await registerClient(service.baseUrl);
    customer = await service.createCustomer(null);
  });

  const revoke = (fields: Record<string, string>) => postUrlEncoded(service.baseUrl, '/revoke', fields);
  const isAlive = async (refreshToken: string) => (await client.refresh(refreshToken)).status === 200;

  describe('the revocation endpoint', () => {
    it('either token revokes the whole grant', async () => {
      for (const name of ['refresh_token', 'access_token'] as const) {
        const tokens = await client.authorizeAndExchange(customer);
        const { status, body } = await revoke({ token: tokens[name], client_id: client.clientId });
        expect([status, body]).to.deep.equal([200, undefined]);
        expect(await isAlive(tokens.refresh_token)).to.equal(false);
      }
    });

    it('an unknown or already revoked token returns 200', async () => {
      for (const token of ['unknown', 'a.b.c', 'x'.repeat(5_000)])
        expect((await revoke({ token, client_id: client.clientId, token_type_hint: 'nonsense' })).status).to.equal(200);
    });

    it('a token of another client is not revoked', async () => {
      const other = await registerClient(service.baseUrl);
      const tokens = await client.authorizeAndExchange(customer);
      for (const name of ['refresh_token', 'access_token'])
        expectOAuthError(await revoke({ token: tokens[name], client_id: other.clientId }), 'invalid_grant');
      expect(await isAlive(tokens.refresh_token)).to.equal(true);
    });

    it('a request without a token or a known client is rejected', async () => {
      expectOAuthError(await revoke({ client_id: client.clientId }), 'invalid_request');
      expectOAuthError(await revoke({ token: 'x' }), 'invalid_request');
      expectOAuthError(await revoke({ token: 'x', client_id: 'unknown' }), 'invalid_client', 401);
    });
  });

  describe('connected applications', () => {
    it('an application is listed with the host that received its code, not with other registered hosts', async () => {
      const someone = await service.createCustomer(null);
      const uris = ['https://claude.ai/api/mcp/auth_callback', REDIRECT_URI];
      const { clientId } = await registerClient(service.baseUrl, { client_name: 'Claude', redirect_uris: uris });
      await new OAuthTestClient(service.baseUrl, clientId, REDIRECT_URI).authorizeAndExchange(someone);
      const [row] = await listApplications(someone);
      expect(row?.page).to.include('127.0.0.1, connected on').and.not.include('claude.ai, connected on');
    });

    it('an application is listed once, and disconnecting it revokes all of its grants', async () => {
      const someone = await service.createCustomer(null);
      const other = await registerClient(service.baseUrl, { client_name: 'Another application' });
      const mine = [
        await client.authorizeAndExchange(someone),
        await client.authorizeAndExchange(someone, { scope: 'svc:read' }),
      ];
      const kept = await other.authorizeAndExchange(someone);
      // An approval whose code is never exchanged connects nothing.
      await (await registerClient(service.baseUrl)).authorize(someone, createPkce().challenge);
      const listed = await listApplications(someone);
      expect(listed).to.have.length(2);

      const grants = await service.sql('SELECT uuid FROM oauth_grants WHERE client_id = $1', [client.clientId]);
      const row = listed.find(({ path }) => grants.some(({ uuid }) => path.includes(uuid)))!;
      const headers = { cookie: someone.cookie, origin: service.baseUrl };
      const otherCustomer = { ...headers, cookie: (await service.createCustomer(null)).cookie };
      expect(
        (await postUrlEncoded(service.baseUrl, row.path, { csrf_token: row.token }, otherCustomer)).status,
      ).to.equal(403);
      expect((await postUrlEncoded(service.baseUrl, row.path, { csrf_token: row.token }, headers)).status).to.equal(
        303,
      );
      for (const { refresh_token: token } of mine) expect(await isAlive(token)).to.equal(false);
      expect((await other.refresh(kept.refresh_token)).status).to.equal(200);
      expect(await listApplications(someone)).to.have.length(1);
      expect((await listApplications(someone))[0]?.page).to.include('Another application');
    });
  });
});
