import { expect } from 'chai';
import type { Actor } from '../../shared/domain/audit/recordAuditEntry.ts';
import { reinstateAccount, suspendAccount } from '../../shared/domain/staff/suspension.ts';
import { type ApiResponse, IMAGE, request, type TestCustomer } from '../harness/apiClient.ts';
import { enableAutoTopups, sweepAutoTopups } from '../harness/autoTopups.ts';
import { expectError } from '../harness/errorEnvelope.ts';
import { captureError, expectRejection } from '../harness/expectRejection.ts';
import { McpEventStream, openMcpSession, postMcp, buildToolCall } from '../harness/mcpClient.ts';
import { expectOAuthError } from '../harness/oauthErrors.ts';
import { createPkce, registerClient } from '../harness/oauthClient.ts';
import { addTopupCredits, seedImages } from '../harness/seeds.ts';
import { eventually, useTestService } from '../harness/testService.ts';

const STAFF_EMAIL = 'boss@example.com';
const buildActor = (reason: string): Actor => ({ kind: 'system', systemUser: 'test', reason });
const CREATES_IN_FLIGHT = 500;
const STREAM_LIMIT_MS = 15_000;

describe('suspension of an account', () => {
  const service = useTestService({ apis: 2, env: { STAFF_EMAILS: STAFF_EMAIL } });
  beforeEach(() => {
    service.upstream.outcome = 'succeed';
  });

  const readAccount = async ({ email }: TestCustomer) =>
    (await service.sql('SELECT * FROM accounts WHERE email = $1', [email]))[0];
  const suspend = async (customer: TestCustomer) =>
    suspendAccount((await readAccount(customer)).id, buildActor('chargebacks'));
  const reinstate = async (customer: TestCustomer) =>
    reinstateAccount((await readAccount(customer)).id, buildActor('resolved'));
  const signInAgain = ({ email }: TestCustomer) =>
    request(service.baseUrl, 'POST', '/authentication/dev/sign-in/', { body: { email } });

  it('rejects API keys with 403 account_suspended on all processes, and ends sessions', async () => {
    const customer = await service.createCustomer();
    const { uuid } = await customer.createImage();
    await suspend(customer);
    for (const baseUrl of service.baseUrls) {
      const there = customer.on(baseUrl);
      expectError(await there.createGeneration(IMAGE), 'account_suspended');
      expectError(await there.readGeneration(uuid), 'account_suspended');
      expectError(await there.request('GET', '/api/ledger/'), 'account_suspended');
      expectError(await there.request('DELETE', `/api/generations/${uuid}/`), 'account_suspended');
      expectError(await there.requestWithSession('GET', '/api/ledger/'), 'invalid_api_key');
      expectError(
        await there.requestWithSession('POST', '/api/generations/create/', { body: { ...IMAGE, prompt: 'a' } }),
        'invalid_api_key',
      );
    }
    expectError(await signInAgain(customer), 'account_suspended');
    expect(
      await service.sql('SELECT 1 FROM sessions WHERE account_id = $1', [(await readAccount(customer)).id]),
    ).to.have.lengthOf(0);
  });

  it('keeps API keys and applications for the reinstatement, and records both actions once', async () => {
    const customer = await service.createCustomer();
    const [first, second] = await Promise.all([suspend(customer), suspend(customer)]);
    expect([first.isChanged, second.isChanged]).to.have.members([true, false]);
    expectError(await customer.createGeneration(IMAGE), 'account_suspended');
    await reinstate(customer);
    expect((await reinstate(customer)).isChanged).to.equal(false);
    expect((await customer.createGeneration(IMAGE)).status).to.equal(201);
    expect((await signInAgain(customer)).status).to.equal(200);
    const entries = await service.sql(
      `SELECT action, command_user, role, reason, before, after FROM audit_entries
        WHERE account_id = $1 ORDER BY number`,
      [(await readAccount(customer)).id],
    );
    const by = { command_user: 'test', role: 'system' };
    expect(entries).to.deep.equal([
      {
        ...by,
        action: 'account.suspend',
        reason: 'chargebacks',
        before: { suspended: false, sessions: 1 },
        after: { suspended: true, sessions: 0, generation_count: 0 },
      },
      {
        ...by,
        action: 'account.reinstate',
        reason: 'resolved',
        before: { suspended: true, generation_count: 0 },
        after: { suspended: false },
      },
    ]);
  });

  it('lets generations in progress finish, with their output or their refund', async () => {
    const customer = await service.createCustomer();
    service.upstream.outcome = 'wait';
    const [good, bad] = [await customer.createImage(), await customer.createImage()];
    await eventually('both are submitted', () =>
      [good, bad].every(({ prompt }) => service.upstream.jobsFor(prompt).length === 1),
    );
    await suspend(customer);
    service.upstream.end(good.prompt, 'succeeded');
    service.upstream.end(bad.prompt, 'failed');
    await eventually('both have ended', async () => (await readAccount(customer)).in_flight === 0);
    await reinstate(customer);
    expect((await customer.waitForEnd(good.uuid)).status).to.equal('succeeded');
    expect((await customer.waitForEnd(bad.uuid)).status).to.equal('failed');
    expect(await customer.balance()).to.equal(1_100 - 8);
  });

  it('accepts none of 500 creates in flight once it is confirmed', async () => {
    const customer = await service.createCustomer('studio');
    service.upstream.outcome = 'wait';
    service.fabricated.add('entitlement-matches-subscription');
    await service.sql('UPDATE accounts SET parallel_limit = 1000 WHERE email = $1', [customer.email]);
    await addTopupCredits(service, customer, 10_000);
    const ways = service.baseUrls.map((baseUrl) => customer.on(baseUrl));
    let answered = 0;
    const creates = Array.from({ length: CREATES_IN_FLIGHT }, async (_, index): Promise<ApiResponse> => {
      const response = await (ways[index % ways.length] as TestCustomer).createGeneration(IMAGE);
      answered += 1;
      return response;
    });
    await eventually('some creates are answered', () => answered >= 1);
    await suspend(customer);
    const countAtConfirmation = (await readAccount(customer)).generation_count;
    const late = await Promise.all(ways.map((way) => way.createGeneration(IMAGE)));
    const responses = await Promise.all(creates);
    const accepted = responses.filter(({ status }) => status === 201);
    for (const response of [...late, ...responses.filter(({ status }) => status !== 201)])
      expectError(response, 'account_suspended');
    expect(accepted.length).to.equal(Number(countAtConfirmation));
    expect(accepted.length).to.be.within(1, CREATES_IN_FLIGHT - 1);
    const { balance, generation_count: count } = await readAccount(customer);
    expect([balance, Number(count)]).to.deep.equal([13_000 - 8 * accepted.length, accepted.length]);
  }).timeout(60_000);

  it('rejects access tokens and refresh tokens, and ends open MCP streams within 15 s', async () => {
    const customer = await service.createCustomer();
    const client = await registerClient(service.baseUrl);
    const tokens = await client.authorizeAndExchange(customer, { scope: 'svc:read svc:write' });
    const holder = Object.assign(customer.on(service.baseUrl), { key: tokens.access_token as string }) as TestCustomer;
    const session = await openMcpSession(holder);
    const events = await McpEventStream.open(holder, session);
    expect(events.status).to.equal(200);
    await suspend(customer);
    const suspendedAt = performance.now();
    const call = await postMcp(holder, buildToolCall('get_usage'), { headers: session });
    expect([call.status, call.body.error]).to.deep.equal([403, 'account_suspended']);
    expectOAuthError(await client.refresh(tokens.refresh_token), 'invalid_grant');
    await eventually('the stream is over', () => events.isEnded, STREAM_LIMIT_MS);
    expect(performance.now() - suspendedAt).to.be.below(STREAM_LIMIT_MS);
    await reinstate(customer);
    expect((await client.refresh(tokens.refresh_token)).status).to.equal(200);
  }).timeout(60_000);

  it('ends a read that waits for the result', async () => {
    const customer = await service.createCustomer();
    service.upstream.outcome = 'wait';
    const { uuid } = await customer.createImage();
    const waiting = customer.request('GET', `/api/generations/${uuid}/?wait=30`);
    await eventually('the image is submitted', async () => {
      const [row] = await service.sql('SELECT upstream_handle FROM generations WHERE uuid = $1', [uuid]);
      return row.upstream_handle !== null;
    });
    await suspend(customer);
    expectError(await waiting, 'account_suspended');
  });

  it('stops automatic top-ups, and clears a trigger: only another burn charges after the reinstatement', async () => {
    const customer = await service.createCustomer('lite');
    await enableAutoTopups(customer, { auto_topup_threshold_credits: 50 });
    await seedImages(service, customer, 140);
    // Within an hour of the last one, a trigger is recorded and not charged.
    await service.sql('UPDATE accounts SET auto_topup_claimed_at = now() WHERE email = $1', [customer.email]);
    await customer.waitForEnd((await customer.createVideo()).uuid);
    expect((await readAccount(customer)).auto_topup_triggered_at).to.not.equal(null);
    await suspend(customer);
    expect((await readAccount(customer)).auto_topup_triggered_at).to.equal(null);
    await service.sql(`UPDATE accounts SET auto_topup_claimed_at = now() - interval '2 hours' WHERE email = $1`, [
      customer.email,
    ]);
    const countTopups = async () => {
      const { id } = await readAccount(customer);
      return (await service.sql('SELECT 1 FROM topups WHERE account_id = $1', [id])).length;
    };
    await sweepAutoTopups(service);
    await reinstate(customer);
    await sweepAutoTopups(service);
    expect(await countTopups()).to.equal(0);
    await customer.createImage();
    await eventually('the top-up is credited', async () => (await customer.balance()) > 50);
    expect(await countTopups()).to.equal(1);
  });

  it('does not accept a session that was created while the account was being suspended, also after the reinstatement', async () => {
    const customer = await service.createCustomer();
    const { id } = await readAccount(customer);
    const [session] = await service.sql('SELECT * FROM sessions WHERE account_id = $1', [id]);
    await suspend(customer);
    await service.sql(
      `INSERT INTO sessions (token_hash, uuid, person_id, account_id, member_number, created_at, expires_at, last_used_at)
       VALUES ($1, gen_random_uuid(), $2, $3, 1, now(), now() + interval '1 day', now())`,
      [session.token_hash, session.person_id, id],
    );
    expectError(await customer.requestWithSession('GET', '/api/ledger/'), 'invalid_api_key');
    await reinstate(customer);
    expectError(await customer.requestWithSession('GET', '/api/ledger/'), 'invalid_api_key');
  });

  it('issues no tokens for a consent that was given before', async () => {
    const customer = await service.createCustomer();
    const client = await registerClient(service.baseUrl);
    const { verifier, challenge } = createPkce();
    const code = (await client.authorize(customer, challenge)).get('code') ?? '';
    await suspend(customer);
    expectOAuthError(await client.exchangeCode(code, verifier), 'invalid_grant');
  });

  it('does not happen if its audit entry cannot be written', async () => {
    const customer = await service.createCustomer();
    const { id } = await readAccount(customer);
    await service.sql(
      `ALTER TABLE audit_entries ADD CONSTRAINT rejected_by_test CHECK (account_id <> ${id}) NOT VALID`,
    );
    await expectRejection(suspend(customer), /rejected_by_test/);
    expect((await readAccount(customer)).suspended_at).to.equal(null);
    expect((await customer.requestWithSession('GET', '/api/ledger/')).status).to.equal(200);
    await service.sql('ALTER TABLE audit_entries DROP CONSTRAINT rejected_by_test');
  });

  it('rejects the key before the request is counted or its body is read', async () => {
    const customer = await service.createCustomer();
    await suspend(customer);
    expectError(await customer.createGeneration({ model: 'none', params: {} }), 'account_suspended');
  });

  it('is refused for a staff account', async () => {
    await request(service.baseUrl, 'POST', '/authentication/dev/sign-in/', { body: { email: STAFF_EMAIL } });
    const [{ id }] = await service.sql('SELECT id FROM accounts WHERE email = $1', [STAFF_EMAIL]);
    const error = await captureError(suspendAccount(id, buildActor('a mistake')));
    expect(error.message).to.include('STAFF_EMAILS');
    expect(await service.sql('SELECT 1 FROM audit_entries WHERE account_id = $1', [id])).to.have.lengthOf(0);
  });
});
