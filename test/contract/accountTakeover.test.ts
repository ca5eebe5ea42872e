import { expect } from 'chai';
import type { TestCustomer } from '../harness/apiClient.ts';
import { accept, invite } from '../harness/members.ts';
import { findAccountUuid, readAudit, StaffConsole } from '../harness/staffConsole.ts';
import { startTestService, type TestService } from '../harness/testService.ts';

describe('what an attacker leaves in an account that it took over', () => {
  const console = new StaffConsole();
  let service: TestService;
  let owner: TestCustomer;
  let account: string;
  before(async () => {
    service = await startTestService({ workers: 0, env: { STAFF_EMAILS: console.staffEmails } });
    await console.open(service);
  });
  beforeEach(async () => {
    owner = await service.createCustomer('pro');
    account = `/admin/accounts/${await findAccountUuid(service, owner)}/`;
  });
  after(() => service.stop());

  /** Performs an action of the account page. @returns the code of its outcome. */
  const act = async (path: string) => (await console.act(path)).headers.get('location')?.split('?done=')[1];

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
});
