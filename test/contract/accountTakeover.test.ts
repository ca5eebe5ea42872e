import { expect } from 'chai';
import type { TestCustomer } from '../harness/apiClient.ts';
import { accept, addMember, findListed, invite, withKey } from '../harness/members.ts';
import { findAccountUuid, readAudit, useStaffService } from '../harness/staffConsole.ts';

/** Reads the code of an outcome from the response to a form. */
const getOutcome = ({ headers }: { headers: Headers }) => headers.get('location')?.split('?done=')[1];

describe('what an attacker leaves in an account that it took over', () => {
  const { console, service } = useStaffService();
  let owner: TestCustomer;
  let account: string;
  beforeEach(async () => {
    owner = await service.createCustomer('pro');
    account = `/admin/accounts/${await findAccountUuid(service, owner)}/`;
  });

  /** Performs an action of the account page. @returns the code of its outcome. */
  const act = async (path: string) => getOutcome(await console.act(path));

  it('cannot be joined after a reinstatement: all access includes open invitations', async () => {
    const [invited, elsewhere] = [await service.createCustomer(null), await service.createCustomer(null)];
    const other = await service.createCustomer(null);
    const [link, otherLink] = [await invite(owner, invited, 'admin'), await invite(other, elsewhere, 'viewer')];
    for (const [action, outcome] of [
      ['suspend', 'suspended'],
      ['revoke-access', 'access-revoked'],
      ['reinstate', 'reinstated'],
    ])
      expect(await act(`${account}${action}/`)).to.equal(outcome);
    expect(await accept(invited, link)).to.equal(404);
    expect(await accept(elsewhere, otherLink)).to.equal(303);
    const entry = (await readAudit(service, owner)).find(({ action }) => action === 'account.revoke_access');
    expect([entry.before.invitations, entry.after.invitations]).to.deep.equal([1, 0]);
    const events = await service.sql(
      `SELECT e.details, e.network FROM security_events e JOIN accounts a ON a.id = e.account_id
        WHERE a.email = $1 AND e.event = 'invitation_revoked'`,
      [owner.email],
    );
    expect(events).to.deep.equal([{ details: { member: invited.email }, network: '' }]);
  });

  it('includes invitations if no credential is left, which are revoked once', async () => {
    await invite(owner, await service.createCustomer(null), 'viewer');
    const { data } = (await owner.request('GET', '/api/keys/')).body;
    expect(await act(`/admin/keys/${data[0].uuid}/revoke/`)).to.equal('key-revoked');
    expect(await act(`${account}sign-out/`)).to.equal('signed-out');
    expect(await act(`${account}revoke-access/`)).to.equal('access-revoked');
    expect(await act(`${account}revoke-access/`)).to.equal('unchanged');
  });

  it('loses its members by staff, with their keys and invitations, so that they cannot return', async () => {
    const [evil, friend] = [await withKey(await addMember(owner, 'admin')), await addMember(owner, 'developer')];
    const [{ uuid }, invited] = [await findListed(owner, evil), await service.createCustomer(null)];
    const link = await invite(evil, invited, 'admin');
    const path = `/admin/members/${uuid as string}/remove/`;
    expect(await act(`${account}suspend/`)).to.equal('suspended');
    expect((await console.visit(account)).text).to.include(`href="${path}"`);
    expect((await console.visit(path)).text).to.include(`Remove ${evil.email} from the account of ${owner.email}?`);
    const fields = await console.readForm(path);
    expect(getOutcome(await console.send(path, fields))).to.equal('member-removed');
    expect((await console.visit(account)).text).to.not.include(`href="${path}"`);
    expect((await console.visit(path)).text).to.include('This person is no longer a member');
    expect(getOutcome(await console.send(path, fields))).to.equal('unchanged');
    expect(await act(`${account}reinstate/`)).to.equal('reinstated');
    expect((await evil.request('GET', '/api/keys/')).status).to.equal(401);
    expect((await owner.request('GET', '/api/keys/')).status).to.equal(200);
    expect(await accept(invited, link)).to.equal(404);
    await service.request('POST', '/authentication/dev/sign-in/', { body: { email: evil.email } });
    const [members] = await service.sql(
      `SELECT array_agg(p.email ORDER BY m.number) AS emails FROM members m JOIN people p ON p.id = m.person_id
         JOIN accounts a ON a.id = m.account_id WHERE a.email = $1 AND m.removed_at IS NULL`,
      [owner.email],
    );
    expect(members.emails).to.deep.equal([owner.email, friend.email]);
    const removals = (await readAudit(service, owner)).filter(({ action }) => action === 'member.remove');
    expect(removals).to.have.length(1);
    expect(removals[0]).to.deep.include({
      target_type: 'member',
      target_id: uuid,
      before: { role: 'admin', sessions: 0, keys: 1, grants: 0 },
    });
  });

  it('shows staff every member, also after many former ones', async () => {
    const evil = await addMember(owner, 'viewer');
    await service.sql(
      `INSERT INTO members (account_id, number, uuid, person_id, role, created_at, removed_at)
       SELECT m.account_id, m.number + n, gen_random_uuid(), m.person_id, 'viewer', now(), now()
         FROM members m JOIN people p ON p.id = m.person_id, generate_series(1, 30) n
        WHERE p.email = $1 AND m.role = 'viewer'`,
      [evil.email],
    );
    await service.sql('UPDATE accounts SET member_count = 32 WHERE email = $1', [owner.email]);
    const [{ uuid }] = await service.sql(
      'SELECT m.uuid FROM members m JOIN people p ON p.id = m.person_id WHERE p.email = $1 AND m.removed_at IS NULL AND m.role = $2',
      [evil.email, 'viewer'],
    );
    expect((await console.visit(account)).text).to.include(`href="/admin/members/${uuid}/remove/"`);
  });

  it('does not lose its owner by staff', async () => {
    const { uuid } = await findListed(owner, owner);
    const path = `/admin/members/${uuid as string}/remove/`;
    const { status, text } = await console.send(path, await console.readForm(`${account}sign-out/`));
    expect([status, text.includes('The owner of an account cannot be removed.')]).to.deep.equal([400, true]);
    expect((await owner.requestWithSession('GET', '/authentication/me/')).status).to.equal(200);
    expect(await readAudit(service, owner)).to.have.length(0);
  });
});
