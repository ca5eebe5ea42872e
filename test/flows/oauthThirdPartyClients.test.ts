import { randomUUID } from 'node:crypto';
import { auth as authOfSdk } from '@modelcontextprotocol/sdk/client/auth.js';
import { auth as authOfClient } from '@modelcontextprotocol/client';
import { expect } from 'chai';
import { createRemoteJWKSet, jwtVerify } from 'jose';
import * as oauth from 'oauth4webapi';
import { captureError } from '../harness/expectRejection.ts';
import { MemoryOAuthProvider, REDIRECT_URI, signInAndAllow } from '../harness/oauthClient.ts';
import { useTestService } from '../harness/testService.ts';

/** The test service uses plain http. */
const options = { [oauth.allowInsecureRequests]: true };

describe('third-party OAuth clients', () => {
  const service = useTestService({ workers: 0 });

  const verifies = async (token: string) =>
    (
      await jwtVerify(token, createRemoteJWKSet(new URL(`${service.baseUrl}/jwks.json`)), {
        issuer: service.baseUrl,
        audience: `${service.baseUrl}/mcp`,
        typ: 'at+jwt',
      })
    ).payload;

  it('oauth4webapi, a strict client, completes discovery, registration, consent, exchange, refresh and revocation', async () => {
    const resource = new URL(`${service.baseUrl}/mcp`);
    const protectedResource = await oauth.processResourceDiscoveryResponse(
      resource,
      await oauth.resourceDiscoveryRequest(resource, options),
    );
    expect(protectedResource.authorization_servers).to.deep.equal([service.baseUrl]);
    const issuer = new URL(protectedResource.authorization_servers?.[0] as string);
    const server = await oauth.processDiscoveryResponse(
      issuer,
      await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...options }),
    );
    const client = await oauth.processDynamicClientRegistrationResponse(
      await oauth.dynamicClientRegistrationRequest(
        server,
        { client_name: 'Strict client', redirect_uris: [REDIRECT_URI], token_endpoint_auth_method: 'none' },
        options,
      ),
    );

    const verifier = oauth.generateRandomCodeVerifier();
    const state = oauth.generateRandomState();
    const address = new URL(server.authorization_endpoint as string);
    address.search = new URLSearchParams({
      response_type: 'code',
      client_id: client.client_id,
      redirect_uri: REDIRECT_URI,
      scope: 'svc:read',
      state,
      code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      resource: resource.href,
    }).toString();
    // Throws if state or iss do not match.
    const reply = oauth.validateAuthResponse(server, client, await signInAndAllow(service.baseUrl, address), state);
    const tokens = await oauth.processAuthorizationCodeResponse(
      server,
      client,
      await oauth.authorizationCodeGrantRequest(server, client, oauth.None(), reply, REDIRECT_URI, verifier, {
        additionalParameters: { resource: resource.href },
        ...options,
      }),
    );
    expect(tokens).to.include({ token_type: 'bearer', expires_in: 3_600, scope: 'svc:read' });
    expect(await verifies(tokens.access_token)).to.include({ scope: 'svc:read', client_id: client.client_id });

    const renewed = await oauth.processRefreshTokenResponse(
      server,
      client,
      await oauth.refreshTokenGrantRequest(server, client, oauth.None(), tokens.refresh_token as string, options),
    );
    await verifies(renewed.access_token);
    await oauth.processRevocationResponse(
      await oauth.revocationRequest(server, client, oauth.None(), renewed.refresh_token as string, options),
    );
    const refused = await oauth
      .refreshTokenGrantRequest(server, client, oauth.None(), renewed.refresh_token as string, options)
      .then((response) => oauth.processRefreshTokenResponse(server, client, response))
      .catch((error: unknown) => error);
    expect(refused).to.be.instanceOf(oauth.ResponseBodyError).and.to.include({ error: 'invalid_grant' });
  });

  it('oauth4webapi rejects a response of this server in place of another one because of iss', async () => {
    const server = { issuer: 'https://other.example', authorization_response_iss_parameter_supported: true };
    const reply = new URL(`${REDIRECT_URI}?code=x&iss=${encodeURIComponent(service.baseUrl)}`);
    expect(() => oauth.validateAuthResponse(server, { client_id: 'x' }, reply)).to.throw(/iss/);
  });

  for (const [name, auth] of [
    ['@modelcontextprotocol/sdk', authOfSdk],
    ['@modelcontextprotocol/client', authOfClient],
  ] as const) {
    it(`auth() of ${name} connects, refreshes, and connects again after it was disconnected`, async () => {
      const provider = new MemoryOAuthProvider();
      const run = (more: object = {}) =>
        auth(provider, {
          serverUrl: `${service.baseUrl}/mcp`,
          resourceMetadataUrl: new URL(`${service.baseUrl}/.well-known/oauth-protected-resource`),
          ...more,
        });
      const connect = async () => {
        expect(await run()).to.equal('REDIRECT');
        const reply = await signInAndAllow(service.baseUrl, provider.authorizationUrl as URL);
        expect(reply.searchParams.get('state')).to.equal('the state');
        const authorizationCode = reply.searchParams.get('code') as string;
        expect(await run({ authorizationCode, iss: reply.searchParams.get('iss') })).to.equal('AUTHORIZED');
        return provider.stored['tokens'];
      };
      const first = await connect();
      expect(await verifies(first.access_token)).to.include({ scope: 'svc:read svc:write' });

      expect(await run()).to.equal('AUTHORIZED');
      const second = provider.stored['tokens'];
      expect(second.refresh_token).not.to.equal(first.refresh_token);

      const { grant } = await verifies(second.access_token);
      await service.sql('UPDATE oauth_grants SET revoked_at = now() WHERE uuid = $1', [grant]);
      const third = await connect();
      expect((await verifies(third.access_token))['grant']).not.to.equal(grant);

      // Deleted like an unused client: it registers again by itself.
      const clientId = provider.stored['client'].client_id;
      await service.sql('DELETE FROM oauth_grants WHERE client_id = $1', [clientId]);
      await service.sql('DELETE FROM oauth_clients WHERE client_id = $1', [clientId]);
      await connect();
      expect(provider.stored['client'].client_id).not.to.equal(clientId);
    });
  }

  for (const [name, auth] of [
    ['@modelcontextprotocol/sdk', authOfSdk],
    ['@modelcontextprotocol/client', authOfClient],
  ] as const) {
    it(`auth() of ${name} keeps its grant through a rate limit`, async () => {
      const limits = { RATE_LIMITS: 'on', RATE_OAUTH_PER_MINUTE: '2', REDIS_PREFIX: `limit-${randomUUID()}` };
      const { baseUrl } = await service.startApi({ ...limits, BASE_URL: service.baseUrl });
      const provider = new MemoryOAuthProvider();
      let address = service.baseUrl;
      const run = (more: object = {}) =>
        auth(provider, {
          serverUrl: `${service.baseUrl}/mcp`,
          fetchFn: (url: string | URL, init?: RequestInit) =>
            fetch(String(url).replace(service.baseUrl, address), init),
          ...more,
        });
      expect(await run()).to.equal('REDIRECT');
      const reply = await signInAndAllow(service.baseUrl, provider.authorizationUrl as URL);
      const authorizationCode = reply.searchParams.get('code') as string;
      expect(await run({ authorizationCode, iss: reply.searchParams.get('iss') })).to.equal('AUTHORIZED');
      provider.authorizationUrl = undefined;

      address = baseUrl;
      // Failures of others behind the address count apart.
      for (let failure = 0; failure < 4; failure += 1) {
        const form = new URLSearchParams({ grant_type: 'refresh_token', client_id: 'x', refresh_token: 'unknown' });
        await fetch(`${baseUrl}/token`, { method: 'POST', body: form });
      }
      for (let refresh = 0; refresh < 2; refresh += 1) expect(await run()).to.equal('AUTHORIZED');
      const { refresh_token: kept } = provider.stored['tokens'];
      const error = await captureError(run());
      expect(error.message).to.include('Too many requests');
      expect(provider.authorizationUrl).to.equal(undefined);
      expect(provider.stored['tokens'].refresh_token).to.equal(kept);
      address = service.baseUrl;
      expect(await run()).to.equal('AUTHORIZED');
    });
  }

  it('discovery and challenges are never refused because of others behind the address, guessed keys are', async () => {
    const limits = { RATE_LIMITS: 'on', RATE_PUBLIC_PER_MINUTE: '1', REDIS_PREFIX: `limit-${randomUUID()}` };
    const { baseUrl } = await service.startApi(limits);
    const statuses = [];
    for (let index = 0; index < 2; index += 1) statuses.push((await fetch(`${baseUrl}/api/models/`)).status);
    expect(statuses).to.deep.equal([200, 429]);
    for (const path of ['/.well-known/oauth-protected-resource/mcp', '/jwks.json'])
      expect((await fetch(baseUrl + path)).status, path).to.equal(200);
    for (const headers of [{}, { authorization: 'Bearer a.b.c' }] as HeadersInit[]) {
      const { status, headers: sent } = await fetch(`${baseUrl}/mcp`, { method: 'POST', headers });
      expect([status, sent.get('www-authenticate')?.slice(0, 7)]).to.deep.equal([401, 'Bearer ']);
    }
    const guess = { authorization: `Bearer svc_${'a'.repeat(40)}` };
    expect((await fetch(`${baseUrl}/mcp`, { method: 'POST', headers: guess })).status).to.equal(429);
  });
});
