import { expect } from 'chai';
import { requestAccountDeletion } from '../../shared/domain/privacy/deletion.ts';
import { SERVICE_ORIGIN } from '../../shared/domain/accounts/securityEvents.ts';
import { buildServiceCaller } from '../../shared/domain/accounts/caller.ts';
import { issueCode } from '../../shared/domain/oauth/authorizationCodes.ts';
import { createVisitor, sendAccountForm } from '../harness/accountForms.ts';
import { IMAGE, type TestCustomer } from '../harness/apiClient.ts';
import { expectError } from '../harness/errorEnvelope.ts';
import { captureError } from '../harness/expectRejection.ts';
import { findForm, type HttpBrowser } from '../harness/httpBrowser.ts';
import { createPkce, registerClient } from '../harness/oauthClient.ts';
import { buildOwnerCaller } from '../harness/people.ts';
import { setAllModelsOnline } from '../harness/seeds.ts';
import { eventually, useTestService } from '../harness/testService.ts';

const DELETE = '/account/delete/';
const UNDO = '/account/delete/undo/';

const create = (customer: TestCustomer) =>
  customer.requestWithSession('POST', '/api/generations/create/', { body: { ...IMAGE, prompt: 'a' } });

describe('the deletion of an account by its owner', () => {
  const service = useTestService({ workers: 0 });
  before(() => setAllModelsOnline(service));

  const at = (path: string) => service.baseUrl + path;
  const submit = (visitor: HttpBrowser, action: string, fields = {}) =>
    sendAccountForm(service.baseUrl, visitor, action, fields);
  const getRow = async ({ email }: TestCustomer) =>
    (await service.sql('SELECT * FROM accounts WHERE email = $1', [email]))[0];

  it('explains what happens, and asks for the e-mail address of the account', async () => {
    const { customer, visitor } = await createVisitor(service, 'pro');
    const { text } = await visitor.request(at(DELETE));
    expect(text).to.include('Your Pro plan no longer renews').and.to.include(`Type ${customer.email} to confirm`);
    expect(text).to.include('Your 1,100 credits are lost');
    const wrong = await submit(visitor, DELETE, { email: 'another@example.com' });
    expect([wrong.status, wrong.text.includes('role="alert"')]).to.deep.equal([400, true]);
    expect((await getRow(customer)).deletion_requested_at).to.equal(null);
  });

  it('ends all other credentials, and nothing can be created or bought until it is undone', async () => {
    const { customer, visitor } = await createVisitor(service, 'pro');
    await service.sql('UPDATE accounts SET auto_topup_enabled = true WHERE email = $1', [customer.email]);
    const client = await registerClient(service.baseUrl);
    const tokens = await client.authorizeAndExchange(customer);
    const requested = await submit(visitor, DELETE, { email: ` ${customer.email.toUpperCase()} ` });
    expect(requested.headers.get('location')).to.equal(`${DELETE}?done=requested`);

    expectError(await customer.request('GET', '/api/keys/'), 'invalid_api_key');
    expect((await client.refresh(tokens.refresh_token)).body.error).to.equal('invalid_grant');
    expect((await getRow(customer)).auto_topup_enabled).to.equal(false);
    const send = (method: string, path: string, body: object) => customer.requestWithSession(method, path, { body });
    for (const rejected of [
      await create(customer),
      await send('POST', '/api/billing/topup/', { amount_cents: 5_000 }),
      await send('PATCH', '/api/billing/topup/settings/', { auto_topup_enabled: true }),
    ]) {
      expectError(rejected, 'subscription_required');
      expect(rejected.body.detail).to.equal(
        'The account is being deleted. Undo the deletion on the account page first.',
      );
    }
    expectError(await send('POST', '/api/billing/checkout/', { plan: 'studio' }), 'validation_error');
    for (const path of ['/api/billing/portal/', '/api/affiliate/enroll/', '/api/affiliate/onboarding-link/']) {
      const rejected = await send('POST', path, {});
      expectError(rejected, 'validation_error');
      expect(rejected.body.detail, path).to.include('is being deleted');
    }
    for (const [method, path, body] of [
      ['POST', '/api/keys/create/', { name: 'a' }],
      ['POST', '/api/webhooks/create/', { url: 'https://hooks.example/a', events: ['generation.succeeded'] }],
      ['PATCH', '/authentication/me/', { first_name: 'a' }],
      ['PATCH', '/api/notifications/settings/', { credits_low_threshold: 5 }],
      ['POST', '/authentication/onboarding/advance/', { step_completed: 'profile' }],
    ] as const) {
      const rejected = await send(method, path, body);
      expectError(rejected, 'validation_error');
      expect(rejected.body.detail, path).to.include('is being deleted');
    }

    // Every page leads to the one that undoes it.
    for (const path of ['/account/', '/account/settings/', '/account/billing/', '/account/security/']) {
      const page = await visitor.request(at(path));
      expect([page.status, page.headers.get('location')], path).to.deep.equal([303, DELETE]);
    }
    const page = await visitor.request(at(`${DELETE}?done=requested`));
    expect(page.text).to.include('<title>The deletion is requested ·').and.to.include('This account will be deleted');
    expect(page.text).to.not.include('aria-label="Account"');
    expect((await submit(visitor, '/account/export/')).status).to.equal(200);

    const undone = await submit(visitor, UNDO);
    expect(undone.headers.get('location')).to.equal('/account/settings/?done=deletion-undone');
    expect((await visitor.request(at('/account/settings/?done=deletion-undone'))).text).to.include('is undone');
    expect((await create(customer)).status).to.equal(201);
    expectError(await customer.request('GET', '/api/keys/'), 'invalid_api_key');
    // Until the task has synced the subscription.
    expect(await service.sql('SELECT status FROM account_deletions')).to.deep.equal([{ status: 'undone' }]);
    const events = await service.sql(
      `SELECT event FROM security_events e JOIN accounts a ON a.id = e.account_id
        WHERE a.email = $1 AND event LIKE 'deletion%' ORDER BY e.id`,
      [customer.email],
    );
    expect(events.map(({ event }) => event)).to.deep.equal(['deletion_requested', 'deletion_undone']);
  });

  it('shows the page to a person who signs in again, and does not connect applications', async () => {
    const { customer, visitor } = await createVisitor(service);
    await submit(visitor, DELETE, { email: customer.email });
    const { fields } = findForm((await visitor.request(at(DELETE))).text, '/account/sign-out/');
    await visitor.submitForm(at('/account/sign-out/'), fields);
    await visitor.submitForm(at('/sign-in'), { email: customer.email });
    expect((await visitor.request(at(DELETE))).text).to.include('Undo');
    const client = await registerClient(service.baseUrl);
    const { challenge } = createPkce();
    const consent = await visitor.request(at(client.authorizePath(challenge)));
    expect(consent.headers.get('location')).to.equal(DELETE);
    const silent = await visitor.request(at(client.authorizePath(challenge, { prompt: 'none' })));
    expect(silent.headers.get('location')).to.include('error=interaction_required');
    expect((await visitor.request(at('/authorize?client_id=x'))).status).to.equal(400);
  });

  it('does not let automatic top-ups be switched on by a request that began before it', async () => {
    const { customer } = await createVisitor(service, 'pro');
    const lock = await service.database.connect();
    try {
      await lock.query('BEGIN');
      await lock.query('SELECT 1 FROM accounts WHERE email = $1 FOR UPDATE', [customer.email]);
      const enabling = customer.requestWithSession('PATCH', '/api/billing/topup/settings/', {
        body: { auto_topup_enabled: true },
      });
      await eventually('the request waits for the account', async () => (await service.countLockWaits()) > 0);
      await lock.query('UPDATE accounts SET deletion_requested_at = now() WHERE email = $1', [customer.email]);
      await lock.query('COMMIT');
      expectError(await enabling, 'subscription_required');
    } finally {
      lock.release();
    }
    expect((await getRow(customer)).auto_topup_enabled).to.equal(false);
    await service.sql('UPDATE accounts SET deletion_requested_at = NULL WHERE email = $1', [customer.email]);
  });

  it('is requested once by simultaneous requests', async () => {
    const { customer } = await createVisitor(service, 'pro');
    const { id } = await getRow(customer);
    const caller = buildOwnerCaller(id, customer);
    await Promise.all(Array.from({ length: 5 }, () => requestAccountDeletion(caller, customer.email, SERVICE_ORIGIN)));
    const [{ count }] = await service.sql(
      `SELECT count(*)::int FROM security_events WHERE account_id = $1 AND event = 'deletion_requested'`,
      [id],
    );
    expect(count).to.equal(1);
  });

  it('accepts no create, key or approval that waits for it', async () => {
    const { customer, visitor } = await createVisitor(service, 'studio');
    const { id } = await getRow(customer);
    let isConfirmed = false;
    const lateCreates: number[] = [];
    const attempts = Array.from({ length: 30 }, async () => {
      const wasConfirmed = isConfirmed;
      const { status } = await create(customer);
      if (wasConfirmed) lateCreates.push(status);
    });
    const keys = Array.from({ length: 5 }, () =>
      customer.requestWithSession('POST', '/api/keys/create/', { body: { name: 'late' } }),
    );
    const { clientId, redirectUri } = await registerClient(service.baseUrl);
    const approval = { accountId: id, clientId, resource: 'mcp' as const, scopes: ['svc:read' as const], redirectUri };
    const approve = () => issueCode({ ...approval, codeChallenge: 'x'.repeat(43) }, { caller: buildServiceCaller(id) });
    const approvals = Array.from({ length: 5 }, () => approve());
    const approved = Promise.allSettled(approvals);
    await requestAccountDeletion(buildOwnerCaller(id, customer), customer.email, SERVICE_ORIGIN);
    isConfirmed = true;
    await Promise.all([...attempts, ...keys, approved]);
    const error = await captureError(approve());
    expect(error.message).to.include('being deleted');
    for (let index = 0; index < 5; index += 1) lateCreates.push((await create(customer)).status);
    expect(new Set(lateCreates)).to.deep.equal(new Set([402]));
    const [counts] = await service.sql(
      `SELECT (SELECT count(*)::int FROM api_keys WHERE account_id = $1 AND revoked_at IS NULL) AS keys,
              (SELECT count(*)::int FROM oauth_grants WHERE account_id = $1 AND revoked_at IS NULL) AS grants,
              (SELECT active_key_count FROM accounts WHERE id = $1) AS counted`,
      [id],
    );
    expect(counts).to.deep.equal({ keys: 0, grants: 0, counted: 0 });
    expect((await visitor.request(at('/account/'))).headers.get('location')).to.equal(DELETE);
  });
});
