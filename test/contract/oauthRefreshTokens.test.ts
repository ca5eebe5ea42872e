import { expect } from 'chai';
import type { TestCustomer } from '../harness/apiClient.ts';
import { countOccurrences } from '../harness/errorEnvelope.ts';
import { decodeClaims, type OAuthTestClient, registerClient } from '../harness/oauthClient.ts';
import { expectOAuthError } from '../harness/oauthErrors.ts';
import { useTestService } from '../harness/testService.ts';

const DAY_SECONDS = 86_400;

describe('OAuth refresh tokens', () => {
  const service = useTestService({ apis: 2, workers: 0 });
  let client: OAuthTestClient;
  let customer: TestCustomer;
  before(async () => {
    client = await registerClient(service.baseUrl, { redirect_uris: ['https://client.example/callback'] });
    customer = await service.createCustomer(null);
  });

  const isAlive = async (refreshToken: string) => (await client.refresh(refreshToken)).status === 200;
  /** Moves the first use of a refresh token into the past. */
  const age = (token: string, seconds: number) =>
    service.sql(
      `UPDATE oauth_refresh_tokens SET used_at = used_at - make_interval(secs => $2)
        WHERE token_hash = sha256(convert_to($1, 'UTF8'))`,
      [token, seconds],
    );

  it('a refresh returns new tokens that are valid for another 30 days', async () => {
    const first = await client.authorizeAndExchange(customer);
    const { status, body } = await client.refresh(first.refresh_token);
    expect(status).to.equal(200);
    expect(body.refresh_token).not.to.equal(first.refresh_token);
    expect(decodeClaims(body.access_token).grant).to.equal(decodeClaims(first.access_token).grant);
    const [row] = (await service.sql(
      `SELECT extract(epoch FROM expires_at - now()) AS seconds FROM oauth_refresh_tokens
        WHERE token_hash = sha256(convert_to($1, 'UTF8'))`,
      [body.refresh_token],
    )) as any;
    expect(Number(row.seconds)).to.be.within(30 * DAY_SECONDS - 60, 30 * DAY_SECONDS);
  });

  it('20 simultaneous refreshes on two processes all return valid tokens', async () => {
    const first = await client.authorizeAndExchange(customer);
    const responses = await Promise.all(
      Array.from({ length: 20 }, (_, index) => client.on(service.baseUrls[index % 2]!).refresh(first.refresh_token)),
    );
    expect(countOccurrences(responses.map(({ status }) => status))).to.deep.equal({ 200: 20 });
    const next = new Set(responses.map(({ body }) => body.refresh_token as string));
    expect(next.size).to.equal(20);
    for (const token of next) expect(await isAlive(token)).to.equal(true);
  });

  it('a refresh token can be reused for 60 seconds, and reuse after that revokes the grant', async () => {
    const first = await client.authorizeAndExchange(customer);
    const second = (await client.refresh(first.refresh_token)).body;
    await age(first.refresh_token, 55);
    const third = (await client.refresh(first.refresh_token)).body;
    expect(await isAlive(third.refresh_token)).to.equal(true);
    await age(first.refresh_token, 10);
    expectOAuthError(await client.refresh(first.refresh_token), 'invalid_grant');
    for (const token of [second.refresh_token, third.refresh_token]) expect(await isAlive(token)).to.equal(false);
  });

  it('reuse of a refresh token after its successor was used revokes the grant, even within the 60 seconds', async () => {
    const first = await client.authorizeAndExchange(customer);
    const second = (await client.refresh(first.refresh_token)).body;
    const sibling = (await client.refresh(first.refresh_token)).body;
    const third = (await client.refresh(second.refresh_token)).body;
    // The use of a successor ends only the grace period of its parent: its siblings stay valid.
    const fourth = (await client.refresh(sibling.refresh_token)).body;
    const response = await client.on(service.baseUrls[1]!).refresh(first.refresh_token);
    expectOAuthError(response, 'invalid_grant');
    expect(response.body.error_description).to.include('was used before');
    for (const { refresh_token: token } of [third, fourth]) expect(await isAlive(token)).to.equal(false);
    const [grant] = (await service.sql('SELECT revoked_at FROM oauth_grants WHERE uuid = $1', [
      decodeClaims(first.access_token).grant,
    ])) as any;
    expect(grant.revoked_at).to.be.instanceOf(Date);
  });

  it('reuse by a program on a loopback address is rejected, and its grant continues', async () => {
    const program = await registerClient(service.baseUrl);
    const first = await program.authorizeAndExchange(customer);
    const second = (await program.refresh(first.refresh_token)).body;
    const third = (await program.refresh(second.refresh_token)).body;
    await age(first.refresh_token, 3_600);
    expectOAuthError(await program.refresh(first.refresh_token), 'invalid_grant');
    expect((await program.refresh(third.refresh_token)).status).to.equal(200);
  });

  it('a refresh token is rotated at most 20 times, and further attempts do not revoke the grant', async () => {
    const first = await client.authorizeAndExchange(customer);
    const responses = await Promise.all(
      Array.from({ length: 30 }, (_, index) => client.on(service.baseUrls[index % 2]!).refresh(first.refresh_token)),
    );
    expect(countOccurrences(responses.map(({ status }) => status))).to.deep.equal({ 200: 20, 400: 10 });
    for (const response of responses.filter(({ status }) => status === 400))
      expectOAuthError(response, 'invalid_grant');
    const [stored] = (await service.sql(
      `SELECT count(*)::int AS count FROM oauth_refresh_tokens
        WHERE parent_hash = sha256(convert_to($1, 'UTF8'))`,
      [first.refresh_token],
    )) as any;
    expect(stored.count).to.equal(20);
    expectOAuthError(await client.refresh(first.refresh_token), 'invalid_grant');
    const winner = responses.find(({ status }) => status === 200)!;
    expect(await isAlive(winner.body.refresh_token)).to.equal(true);
  });

  it('20 simultaneous reuses revoke the grant', async () => {
    const first = await client.authorizeAndExchange(customer);
    await client.refresh(first.refresh_token);
    await age(first.refresh_token, 61);
    const responses = await Promise.all(
      Array.from({ length: 20 }, (_, index) => client.on(service.baseUrls[index % 2]!).refresh(first.refresh_token)),
    );
    expect(countOccurrences(responses.map(({ body }) => body.error))).to.deep.equal({ invalid_grant: 20 });
    const [grant] = (await service.sql('SELECT revoked_at FROM oauth_grants WHERE uuid = $1', [
      decodeClaims(first.access_token).grant,
    ])) as any;
    expect(grant.revoked_at).to.be.instanceOf(Date);
  });

  it('a refresh can narrow the scopes of an access token without changing the grant', async () => {
    const first = await client.authorizeAndExchange(customer);
    expect(first.scope).to.equal('svc:read svc:write');
    const narrow = (await client.refresh(first.refresh_token, { scope: 'svc:read' })).body;
    expect([narrow.scope, decodeClaims(narrow.access_token).scope]).to.deep.equal(['svc:read', 'svc:read']);
    expect((await client.refresh(narrow.refresh_token)).body.scope).to.equal('svc:read svc:write');
  });

  it('a refresh cannot add a scope, and the token stays valid', async () => {
    const first = await client.authorizeAndExchange(customer, { scope: 'svc:read' });
    expectOAuthError(await client.refresh(first.refresh_token, { scope: 'svc:read svc:write' }), 'invalid_scope');
    expectOAuthError(await client.refresh(first.refresh_token, { scope: 'admin' }), 'invalid_scope');
    expect(await isAlive(first.refresh_token)).to.equal(true);
  });

  it('a refresh token of another client is rejected and stays valid for its own client', async () => {
    const other = await registerClient(service.baseUrl);
    const first = await client.authorizeAndExchange(customer);
    expectOAuthError(await other.refresh(first.refresh_token), 'invalid_grant');
    expect(await isAlive(first.refresh_token)).to.equal(true);
  });

  it('a refresh token is rejected after 30 days', async () => {
    const first = await client.authorizeAndExchange(customer);
    await service.sql(
      `UPDATE oauth_refresh_tokens SET expires_at = expires_at - interval '30 days' WHERE grant_uuid = $1`,
      [decodeClaims(first.access_token).grant],
    );
    expectOAuthError(await client.refresh(first.refresh_token), 'invalid_grant');
  });
});
