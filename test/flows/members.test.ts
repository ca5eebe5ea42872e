import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { IMAGE, TestCustomer } from '../harness/apiClient.ts';
import { expectError } from '../harness/errorEnvelope.ts';
import { createBrowserFor, findForm } from '../harness/httpBrowser.ts';
import { waitForLockWaits, whileAccountIsLocked } from '../harness/lockedAccount.ts';
import { accept, addMember, findListed, invite, withKey } from '../harness/members.ts';
import { createPkce, registerClient } from '../harness/oauthClient.ts';
import { getAccountId } from '../harness/outbox.ts';
import { changeOwner } from '../harness/people.ts';
import { setAllModelsOnline } from '../harness/seeds.ts';
import { useTestService } from '../harness/testService.ts';

const readMe = async (person: TestCustomer) =>
  (await person.requestWithSession('GET', '/authentication/me/')).body.user;
const readAccounts = async (person: TestCustomer) =>
  (await person.requestWithSession('GET', '/authentication/accounts/')).body.accounts;
const switchTo = (person: TestCustomer, uuid: string) =>
  person.requestWithSession('POST', `/authentication/accounts/${uuid}/switch/`);
const create = (person: TestCustomer) =>
  person.requestWithSession('POST', '/api/generations/create/', { body: { ...IMAGE, prompt: 'a lighthouse' } });
const post = (person: TestCustomer, path: string, body = {}) => person.requestWithSession('POST', path, { body });

const createKeyOnce = (person: TestCustomer) =>
  person.requestWithSession('POST', '/api/keys/create/', {
    body: { name: 'ci' },
    headers: { 'idempotency-key': 'ci-1' },
  });

const STAFF_EMAIL = 'boss@example.com';
/** Also on the staff list; a test gives it to a person. */
const LATER_STAFF_EMAIL = 'new-boss@example.com';

const readMetrics = async (person: TestCustomer) =>
  (await person.requestWithSession('GET', '/api/admin/metrics/')).status;

/** Makes a member a viewer. */
const makeViewer = (caller: TestCustomer, uuid: string) =>
  caller.requestWithSession('PATCH', `/api/members/${uuid}/`, { body: { role: 'viewer' } });

const changeLimit = (by: TestCustomer, uuid: string, limit: object | null) =>
  by.requestWithSession('PATCH', `/api/members/${uuid}/`, { body: { credit_limit: limit } });

describe('members of an account', () => {
  const service = useTestService({ workers: 0, env: { STAFF_EMAILS: `${STAFF_EMAIL},${LATER_STAFF_EMAIL}` } });
  before(() => setAllModelsOnline(service));

  /** Signs a person in again. @returns the person with the new session. */
  async function signInAgain({ email, baseUrl, key }: TestCustomer): Promise<TestCustomer> {
    const { headers } = await service.request('POST', '/authentication/dev/sign-in/', { body: { email } });
    return new TestCustomer(baseUrl, email, headers.getSetCookie()[0]?.split(';')[0] ?? '', key);
  }

  describe('an invitation', () => {
    it('makes the invited person a member, whose session acts on the account with the balance of the account', async () => {
      const owner = await service.createCustomer('pro');
      const member = await addMember(owner, 'developer');
      expect(await readMe(member))
        .to.include({ email: member.email, first_name: '' })
        .and.have.deep.property('credits', {
          balance: 1_100,
        });
      expect((await create(member)).status).to.equal(201);
      expect(await owner.balance()).to.equal(1_092);
      expect(await findListed(owner, member)).to.include({ role: 'developer', removed_at: null });
      const accounts = await readAccounts(member);
      expect(accounts.map((account: any) => [account.email, account.role, account.is_current])).to.deep.equal([
        [member.email, 'owner', false],
        [owner.email, 'developer', true],
      ]);
    });

    it('is not accepted by a person with another address, or twice', async () => {
      const owner = await service.createCustomer(null);
      const [invited, stranger] = [await service.createCustomer(null), await service.createCustomer(null)];
      const path = await invite(owner, invited, 'viewer');
      expect(await accept(stranger, path)).to.equal(403);
      expect(await readAccounts(stranger)).to.have.length(1);
      expect(await accept(invited, path)).to.equal(303);
      expect(await accept(invited, path)).to.equal(404);
    });

    it('that was revoked, sent again, replaced or has expired is not accepted by its former link', async () => {
      const owner = await service.createCustomer(null);
      const invited = await service.createCustomer(null);
      const open = async () => (await owner.requestWithSession('GET', '/api/invitations/')).body.data;
      const first = await invite(owner, invited, 'viewer');
      const second = await invite(owner, invited, 'admin');
      const [{ uuid }] = await open();
      const resent = await post(owner, `/api/invitations/${uuid}/resend/`);
      for (const path of [first, second]) expect(await accept(invited, path)).to.equal(404);
      expect((await post(owner, `/api/invitations/${uuid}/revoke/`)).status).to.equal(204);
      expect(await accept(invited, new URL(resent.body.url).pathname)).to.equal(404);
      expect(await open()).to.deep.equal([]);
      const late = await invite(owner, invited, 'viewer');
      await service.sql(`UPDATE invitations SET expires_at = now() WHERE email = $1`, [invited.email]);
      expect(await accept(invited, late)).to.equal(404);
      expect(await accept(invited, `/account/invitations/${'A'.repeat(80)}/`)).to.equal(404);
    });

    it('needs an address that is not a member, and is sent five times at most', async () => {
      const owner = await service.createCustomer(null);
      const member = await addMember(owner, 'viewer');
      const body = { email: member.email, role: 'viewer' };
      expectError(await post(owner, '/api/invitations/create/', body), 'validation_error', 'is a member already');
      expectError(await post(owner, '/api/invitations/create/', { ...body, email: 'nobody' }), 'validation_error');
      expectError(await post(owner, '/api/invitations/create/', { ...body, role: 'owner' }), 'validation_error');
      const { uuid } = (await post(owner, '/api/invitations/create/', { email: 'x@example.com', role: 'viewer' })).body;
      const sent = [];
      for (let count = 0; count < 5; count += 1)
        sent.push((await post(owner, `/api/invitations/${uuid}/resend/`)).status);
      expect(sent).to.deep.equal([200, 200, 200, 200, 400]);
    });

    it('accepted by two browsers at once makes one member', async () => {
      const owner = await service.createCustomer(null);
      const invited = await service.createCustomer(null);
      const path = await invite(owner, invited, 'viewer');
      const again = await signInAgain(invited);
      const statuses = await Promise.all([accept(invited, path), accept(again, path)]);
      expect(statuses.toSorted()).to.deep.equal([303, 404]);
    });
  });

  describe('a removed member', () => {
    it('has no session in the account any more, and its own account as before', async () => {
      const owner = await service.createCustomer('pro');
      const member = await addMember(owner, 'admin');
      const { uuid } = await findListed(owner, member);
      const { body } = await post(owner, `/api/members/${uuid}/remove/`);
      expect(body).to.deep.equal({ sessions: 1, keys: 0, grants: 0 });
      expectError(await create(member), 'invalid_api_key');
      const again = await signInAgain(member);
      expect(await readAccounts(again)).to.have.length(1);
      expect((await findListed(owner, member)).removed_at).to.be.a('string');
    });

    it('leaves keys that work with its last role until they are revoked in one step', async () => {
      const owner = await service.createCustomer('pro');
      const member = await withKey(await addMember(owner, 'developer'));
      const { uuid } = await findListed(owner, member);
      await post(owner, `/api/members/${uuid}/remove/`);
      await member.createImage();
      expectError(await member.request('GET', '/api/billing/invoices/'), 'insufficient_scope');
      const another = { body: { name: 'another' } };
      expectError(await member.request('POST', '/api/keys/create/', another), 'insufficient_scope', 'was removed');
      const [key] = (await member.request('GET', '/api/keys/')).body.data;
      const wider = await member.request('PATCH', `/api/keys/${key.uuid}/`, {
        body: { expires_at: null, name: 'wider' },
      });
      expectError(wider, 'insufficient_scope', 'was removed');
      expect((await findListed(owner, member)).api_keys).to.equal(1);
      expect((await post(owner, `/api/members/${uuid}/revoke-access/`)).body).to.deep.equal({ keys: 1, grants: 0 });
      expectError(await member.createGeneration(IMAGE), 'invalid_api_key');
    });

    it('loses its keys at once if the removal revokes them', async () => {
      const owner = await service.createCustomer('pro');
      const member = await withKey(await addMember(owner, 'developer'));
      const { uuid } = await findListed(owner, member);
      const { body } = await post(owner, `/api/members/${uuid}/remove/`, { revoke_access: true });
      expect(body).to.deep.equal({ sessions: 1, keys: 1, grants: 0 });
      expectError(await member.createGeneration(IMAGE), 'invalid_api_key');
    });

    it('creates nothing with a request that waits for the account while it is removed', async () => {
      const owner = await service.createCustomer('pro');
      const member = await addMember(owner, 'developer');
      const id = await getAccountId(service, owner);
      let created: ReturnType<typeof create> | undefined;
      await whileAccountIsLocked(service, id, async (holder) => {
        created = create(member);
        await new Promise((resolve) => setTimeout(resolve, 300));
        await holder.query('DELETE FROM sessions WHERE account_id = $1 AND member_number = 2', [id]);
      });
      expectError(await created!, 'invalid_api_key');
      expect(await owner.balance()).to.equal(1_100);
    });

    it('is erased if that was its only account', async () => {
      const owner = await service.createCustomer(null);
      const member = await addMember(owner, 'viewer');
      const [own] = await readAccounts(member);
      await switchTo(member, own.uuid);
      const visitor = createBrowserFor(member);
      const { fields } = findForm(
        (await visitor.request(`${service.baseUrl}/account/delete/`)).text,
        '/account/delete/',
      );
      await visitor.submitForm(`${service.baseUrl}/account/delete/`, { ...fields, email: member.email });
      const ownId = await getAccountId(service, member);
      const { eraseAccount } = await import('../../shared/domain/privacy/erase.ts');
      await eraseAccount(ownId);
      const people = () => service.sql('SELECT erased_at FROM people WHERE email = $1', [member.email]);
      expect(await people()).to.deep.equal([{ erased_at: null }]);
      const { uuid } = await findListed(owner, member);
      expect((await post(owner, `/api/members/${uuid}/remove/`)).status).to.equal(200);
      expect(await people()).to.deep.equal([]);
      expect(
        await service.sql(
          'SELECT 1 FROM members m JOIN people p ON p.id = m.person_id WHERE p.erased_at IS NULL AND m.uuid = $1',
          [uuid],
        ),
      ).to.deep.equal([]);
    });
  });

  describe('a change of roles', () => {
    it('is rejected for the owner and for oneself, and for a session that signed in long ago', async () => {
      const owner = await service.createCustomer(null);
      const admin = await addMember(owner, 'admin');
      const [own, of] = [await findListed(owner, admin), await findListed(owner, owner)];
      expectError(await makeViewer(admin, of.uuid), 'validation_error', 'until the account is handed over');
      expectError(await makeViewer(admin, own.uuid), 'validation_error', 'another member');
      await service.sql(`UPDATE sessions SET created_at = created_at - interval '16 minutes' WHERE account_id = $1`, [
        await getAccountId(service, owner),
      ]);
      expectError(
        await makeViewer(owner, own.uuid),
        'insufficient_scope',
        'requires a sign-in within the last 15 minutes',
      );
      const limit = { credit_limit: { credits: 10, period: 'day' } };
      expect((await owner.requestWithSession('PATCH', `/api/members/${own.uuid}/`, { body: limit })).status).to.equal(
        200,
      );
    });

    it('does not lift the limit of oneself, which others set; only the owner sets its own', async () => {
      const owner = await service.createCustomer(null);
      const admin = await addMember(owner, 'admin');
      const { uuid } = await findListed(owner, admin);
      const limit = { credits: 10, period: 'day' };
      expect((await changeLimit(owner, uuid, limit)).status).to.equal(200);
      expect((await changeLimit(admin, uuid, limit)).status, 'unchanged').to.equal(200);
      expectError(
        await changeLimit(admin, uuid, null),
        'validation_error',
        'another member must change your own limit',
      );
      expect((await findListed(owner, admin)).credit_limit).to.deep.include(limit);
      expect((await changeLimit(owner, (await findListed(owner, owner)).uuid, limit)).status).to.equal(200);
    });
  });

  describe('the owner', () => {
    it('hands the account over to a member, whose address it has from then on, and becomes an admin', async () => {
      const owner = await service.createCustomer('pro');
      const heir = await addMember(owner, 'developer');
      const { uuid } = await findListed(owner, heir);
      expectError(await post(heir, `/api/members/${uuid}/hand-over/`), 'insufficient_scope');
      expect((await post(owner, `/api/members/${uuid}/hand-over/`)).status).to.equal(204);
      expect((await findListed(heir, owner)).role).to.equal('admin');
      expect((await findListed(heir, heir)).role).to.equal('owner');
      expect((await readMe(owner)).email).to.equal(owner.email);
      expectError(await post(owner, `/api/members/${uuid}/hand-over/`), 'insufficient_scope');
      const { body } = await post(owner, '/authentication/leave/');
      expect(body).to.deep.equal({ sessions: 1, keys: 0, grants: 0 });
      // The former owner had no other account: the next sign-in opens a new one.
      const again = await signInAgain(owner);
      expect(await readMe(again)).to.deep.include({ plan: null, credits: { balance: 0 } });
      // The key of the former owner stays.
      expect(await owner.balance()).to.equal(1_100);
    });

    it('cannot leave or be removed', async () => {
      const owner = await service.createCustomer(null);
      const admin = await addMember(owner, 'admin');
      const { uuid } = await findListed(owner, owner);
      expectError(await post(owner, '/authentication/leave/'), 'validation_error', 'Hand the account over');
      expectError(await post(admin, `/api/members/${uuid}/remove/`), 'validation_error', 'Hand the account over');
    });
  });

  describe('a session', () => {
    it('acts on the account that the person switches to, as later sign-ins do', async () => {
      const owner = await service.createCustomer('pro');
      const member = await addMember(owner, 'viewer');
      const [own] = await readAccounts(member);
      expect((await switchTo(member, own.uuid)).status).to.equal(204);
      expect((await readMe(member)).plan).to.equal(null);
      expect((await readMe(await signInAgain(member))).plan).to.equal(null);
      const [, joined] = await readAccounts(member);
      await switchTo(member, joined.uuid);
      expect((await readMe(await signInAgain(member))).plan.slug).to.equal('pro');
      expectError(await switchTo(member, randomUUID()), 'not_found');
      expectError(await switchTo(await service.createCustomer(null), joined.uuid), 'not_found');
    });

    it('that was switched while its request waited for the former account is rejected there', async () => {
      const owner = await service.createCustomer('pro');
      const member = await addMember(owner, 'developer');
      const id = await getAccountId(service, owner);
      const own = await getAccountId(service, member);
      let created: ReturnType<typeof create> | undefined;
      await whileAccountIsLocked(service, id, async (holder) => {
        created = create(member);
        await new Promise((resolve) => setTimeout(resolve, 300));
        await holder.query(
          'UPDATE sessions SET account_id = $1, member_number = 1 WHERE account_id = $2 AND member_number = 2',
          [own, id],
        );
      });
      expectError(await created!, 'invalid_api_key');
      expect(await owner.balance()).to.equal(1_100);
    });

    it('cannot switch to a suspended account, and a sign-in opens another one', async () => {
      const owner = await service.createCustomer('pro');
      const member = await addMember(owner, 'viewer');
      const [own, joined] = await readAccounts(member);
      await switchTo(member, own.uuid);
      service.fabricated.add('suspensions-are-audited');
      await service.sql('UPDATE accounts SET suspended_at = now() WHERE email = $1', [owner.email]);
      expectError(await switchTo(member, joined.uuid), 'account_suspended');
      expect((await readMe(await signInAgain(member))).plan).to.equal(null);
    });
  });

  it('staff rights apply in an account that the person owns only, and staff do not take over accounts', async () => {
    const owner = await service.createCustomer(null);
    const staff = await signInAgain(new TestCustomer(service.baseUrl, STAFF_EMAIL, '', ''));
    expect(await readMetrics(staff)).to.equal(200);
    expect(await accept(staff, await invite(owner, staff, 'admin'))).to.equal(303);
    expect(await readMetrics(staff)).to.equal(403);
    expect((await readMe(staff)).is_staff).to.equal(false);
    const { uuid } = await findListed(owner, staff);
    expectError(
      await post(owner, `/api/members/${uuid}/hand-over/`),
      'validation_error',
      'invite the person with another',
    );
    expect(await readMetrics(staff)).to.equal(403);
    const heir = await addMember(owner, 'viewer');
    const { uuid: heirUuid } = await findListed(owner, heir);
    expect((await post(owner, `/api/members/${heirUuid}/hand-over/`)).status).to.equal(204);
  });

  it('keys that the new owner made as a member get no staff rights when it becomes staff, nor do keys that they create', async () => {
    const owner = await service.createCustomer(null);
    const staff = await addMember(owner, 'developer');
    const { key: teamKey } = await withKey(staff);
    const { uuid } = await findListed(owner, staff);
    expect((await post(owner, `/api/members/${uuid}/hand-over/`)).status).to.equal(204);
    await changeOwner(service, staff.email, 'email', LATER_STAFF_EMAIL);
    const { key: ownKey } = await withKey(staff);
    const requestBy = (key: string, method: string, path: string, body?: object) =>
      service.request(method, path, { headers: { authorization: `Bearer ${key}` }, ...(body && { body }) });
    const createKeyBy = async (key: string) =>
      (await requestBy(key, 'POST', '/api/keys/create/', { name: 'b' })).body.key;
    const keys = [teamKey, await createKeyBy(teamKey), ownKey, await createKeyBy(ownKey)];
    const statuses = keys.map(async (key) => (await requestBy(key, 'GET', '/api/admin/metrics/')).status);
    expect(await Promise.all(statuses)).to.deep.equal([403, 403, 200, 200]);
  });

  it('a member does not get the key of another by repeating the request under its Idempotency-Key', async () => {
    const owner = await service.createCustomer(null);
    const developer = await addMember(owner, 'developer');
    const first = await createKeyOnce(owner);
    expect(first.status).to.equal(201);
    expect((await createKeyOnce(owner)).body.key).to.equal(first.body.key);
    expectError(await createKeyOnce(developer), 'validation_error', 'used for another request');
  });

  it('people change their own profile, and that of the accounts that they own', async () => {
    const owner = await service.createCustomer('pro');
    const member = await addMember(owner, 'viewer');
    await member.requestWithSession('PATCH', '/authentication/me/', { body: { first_name: 'Bob', language: 'de' } });
    expect(await readMe(member)).to.include({ first_name: 'Bob', language: 'de' });
    expect(await readMe(owner)).to.include({ first_name: '', language: 'en' });
    const names = await service.sql('SELECT first_name FROM accounts WHERE email = $1', [member.email]);
    expect(names).to.deep.equal([{ first_name: 'Bob' }]);
  });

  it('the security log names the member of each event', async () => {
    const owner = await service.createCustomer(null);
    const member = await addMember(owner, 'admin');
    await withKey(member);
    const { text } = await createBrowserFor(owner).request(`${service.baseUrl}/account/security/`);
    const rows = text.split('<tr>').filter((row) => row.includes(member.email));
    expect(rows.some((row) => row.includes('joined'))).to.equal(true);
    expect(rows.some((row) => row.includes('API key'))).to.equal(true);
  });

  it('generations record the member, and the usage is listed by member', async () => {
    const owner = await service.createCustomer('pro');
    await owner.createImage();
    const member = await addMember(owner, 'developer');
    await create(member);
    const keyed = await withKey(member);
    await keyed.createImage();
    const { body } = await owner.request('GET', '/api/usage/members/');
    expect(body.data.map((row: any) => [row.email, row.credits, row.count, row.removed])).to.deep.equal([
      [member.email, 16, 2, false],
      [owner.email, 8, 1, false],
    ]);
    const rows = await service.sql('SELECT member_number FROM generations WHERE account_id = $1 ORDER BY number', [
      await getAccountId(service, owner),
    ]);
    expect(rows.map((row) => row.member_number)).to.deep.equal([1, 2, 2]);
    const { text } = await createBrowserFor(owner).request(`${service.baseUrl}/account/usage/`);
    expect(text).to.include('By member').and.include(member.email);
  });

  it('the deletion of an account says how many members lose access, and its erasure removes them', async () => {
    const owner = await service.createCustomer(null);
    const member = await addMember(owner, 'admin');
    const visitor = createBrowserFor(owner);
    const { text } = await visitor.request(`${service.baseUrl}/account/delete/`);
    expect(text).to.include('1 other member loses access');
    const { fields } = findForm(text, '/account/delete/');
    await visitor.submitForm(`${service.baseUrl}/account/delete/`, { ...fields, email: owner.email });
    expectError(await create(member), 'invalid_api_key');
    expect(await readAccounts(await signInAgain(member))).to.have.length(2);
    const { eraseAccount } = await import('../../shared/domain/privacy/erase.ts');
    await eraseAccount(await getAccountId(service, owner));
    expect(await readAccounts(await signInAgain(member))).to.have.length(1);
  });

  it('a top-up records the member who bought it', async () => {
    const owner = await service.createCustomer('pro');
    const member = await addMember(owner, 'billing');
    expect((await post(member, '/api/billing/topup/', { amount_cents: 5_000 })).status).to.equal(200);
    const rows = await service.sql('SELECT member_number FROM topups WHERE account_id = $1', [
      await getAccountId(service, owner),
    ]);
    expect(rows).to.deep.equal([{ member_number: 2 }]);
  });

  it('the security log names the member who chose a plan, and who set automatic top-ups', async () => {
    const owner = await service.createCustomer(null);
    const member = await addMember(owner, 'billing');
    expect((await post(member, '/api/billing/checkout/', { plan: 'pro' })).status).to.equal(200);
    const settings = { auto_topup_enabled: true };
    const path = '/api/billing/topup/settings/';
    expect((await member.requestWithSession('PATCH', path, { body: settings })).status).to.equal(200);
    const rows = await service.sql(
      `SELECT event, member_number, details FROM security_events
        WHERE account_id = $1 AND event IN ('plan_checkout_opened', 'auto_topup_changed') ORDER BY id`,
      [await getAccountId(service, owner)],
    );
    expect(rows).to.deep.equal([
      { event: 'plan_checkout_opened', member_number: 2, details: { plan: 'pro' } },
      {
        event: 'auto_topup_changed',
        member_number: 2,
        details: { state: 'on', amount_cents: 5_000, threshold_credits: 0 },
      },
    ]);
    const { text } = await createBrowserFor(owner).request(`${service.baseUrl}/account/security/`);
    expect(text).to.include('Plan pro chosen').and.include('Automatic top-ups set: on');
  });

  it('a member who is removed meanwhile does not switch automatic top-ups on', async () => {
    const owner = await service.createCustomer('pro');
    const member = await addMember(owner, 'billing');
    const id = await getAccountId(service, owner);
    let changed: ReturnType<typeof create> | undefined;
    await whileAccountIsLocked(service, id, async (holder) => {
      changed = member.requestWithSession('PATCH', '/api/billing/topup/settings/', {
        body: { auto_topup_amount_cents: 900_000 },
      });
      await waitForLockWaits(service);
      await holder.query('DELETE FROM sessions WHERE account_id = $1 AND member_number = 2', [id]);
    });
    expectError(await changed!, 'invalid_api_key');
  });

  it('a member who signed in long ago does not leave: a stolen session would delete its person', async () => {
    const owner = await service.createCustomer(null);
    const member = await addMember(owner, 'viewer');
    await service.sql(`UPDATE sessions SET created_at = created_at - interval '16 minutes' WHERE account_id = $1`, [
      await getAccountId(service, owner),
    ]);
    expectError(await post(member, '/authentication/leave/'), 'insufficient_scope', 'within the last 15 minutes');
  });

  it('a removed member connects no application with a code that it approved before', async () => {
    const owner = await service.createCustomer(null);
    const member = await addMember(owner, 'developer');
    const client = await registerClient(service.baseUrl);
    const { verifier, challenge } = createPkce();
    const approved = await client.authorize(member, challenge);
    await post(owner, `/api/members/${(await findListed(owner, member)).uuid}/remove/`);
    const exchanged = await client.exchangeCode(approved.get('code') ?? '', verifier);
    expect([exchanged.status, exchanged.body.error]).to.deep.equal([400, 'invalid_grant']);
  });

  it('an account of one person lists that person, and its usage', async () => {
    const owner = await service.createCustomer('pro');
    await owner.createImage();
    expect((await owner.request('GET', '/api/usage/members/')).body.data).to.have.length(1);
    expect((await owner.request('GET', '/api/usage/members/')).body.data[0]).to.include({ credits: 8, count: 1 });
  });
});
