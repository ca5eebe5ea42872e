import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import type { StaffRole } from '../../shared/spec/staff.ts';
import type { TestCustomer } from '../harness/apiClient.ts';
import { expectError } from '../harness/errorEnvelope.ts';
import { accept, addMember, findListed, invite } from '../harness/members.ts';
import { changeOwner } from '../harness/people.ts';
import { findAccountUuid, StaffConsole } from '../harness/staffConsole.ts';
import { startTestService, type TestService } from '../harness/testService.ts';

describe('a member of staff with a second account', () => {
  const console = new StaffConsole();
  let service: TestService;
  before(async () => {
    const env = { STAFF_EMAILS: console.staffEmails, STAFF_APPROVAL_CREDITS: '99950' };
    service = await startTestService({ workers: 0, env });
    await console.open(service);
  });
  after(() => service.stop());

  /** Makes the member finance the owner of another account from before it was staff, on which its session acts then. */
  async function giveSecondAccount(): Promise<void> {
    const owner = await service.createCustomer(null);
    const finance = console.member('finance');
    const email = `${randomUUID()}@example.com`;
    await changeOwner(service, console.email('finance'), 'email', email);
    expect(await accept(finance, await invite(owner, { email }, 'admin'))).to.equal(303);
    const { uuid } = await findListed(owner, { email });
    const { status } = await owner.requestWithSession('POST', `/api/members/${uuid}/hand-over/`);
    expect(status).to.equal(204);
    await changeOwner(service, email, 'email', console.email('finance'));
  }

  it('is not another person: it neither decides what the first requested, nor gives back more', async () => {
    const customer = await service.createCustomer('pro');
    const account = `/admin/accounts/${await findAccountUuid(service, customer)}/`;
    expect((await console.act(`${account}adjust/`, { credits: '50' }, 'finance')).status).to.equal(303);
    const form = { ...(await console.readForm(`${account}adjust/`, 'finance')), credits: '99950' };
    const requested = await console.send(`${account}adjust/`, form, { role: 'finance' });
    expect(requested.headers.get('location')).to.include('approval-requested');
    await giveSecondAccount();
    const path = `/admin/approvals/${(form as Record<string, string>)['request']}/`;
    const decided = await console.act(`${path}approve/`, {}, 'finance');
    expect([decided.status, decided.text.includes('You requested the adjustment')]).to.deep.equal([403, true]);
    expect((await console.act(`${account}adjust/`, { credits: '99949' }, 'finance')).status).to.equal(303);
    const more = await console.act(`${account}adjust/`, { credits: '2' }, 'finance');
    expect([more.status, more.text.includes('1 are left')]).to.deep.equal([403, true]);
    expect(await customer.balance()).to.equal(1_100 + 99_999);
  });

  /** Makes a member of staff a member of the account of a customer. Its session acts on its own account afterwards. */
  async function join(customer: TestCustomer, role: StaffRole): Promise<void> {
    const [staff, email] = [console.member(role), console.email(role)];
    expect(await accept(staff, await invite(customer, { email }, 'billing'))).to.equal(303);
    const own = `/authentication/accounts/${await findAccountUuid(service, { email })}/switch/`;
    expect((await staff.requestWithSession('POST', own)).status).to.equal(204);
  }

  it('neither credits a customer that it works for, nor approves that, except with the role admin', async () => {
    const customer = await service.createCustomer(null);
    const account = `/admin/accounts/${await findAccountUuid(service, customer)}/`;
    await join(customer, 'finance');
    const credited = await console.act(`${account}adjust/`, { credits: '1' }, 'finance');
    expect([credited.status, credited.text.includes('requires the role admin')]).to.deep.equal([403, true]);
    const form: Record<string, string> = { ...(await console.readForm(`${account}adjust/`)), credits: '99950' };
    expect((await console.send(`${account}adjust/`, form)).status).to.equal(303);
    const approval = `/admin/approvals/${form['request']}/`;
    for (const path of [`${approval}approve/`, `${approval}reject/`]) {
      const decided = await console.act(path, {}, 'finance');
      expect([decided.status, decided.text.includes('you are a member of it')], path).to.deep.equal([403, true]);
    }
    await join(customer, 'admin');
    expect((await console.act(`${account}adjust/`, { credits: '1' })).status).to.equal(303);
    const { uuid } = await findListed(customer, { email: console.email('finance') });
    const removed = await customer.requestWithSession('POST', `/api/members/${uuid}/remove/`, { body: {} });
    expect(removed.status).to.equal(200);
    expect((await console.act(`${approval}reject/`, {}, 'finance')).status).to.equal(303);
    expect(await customer.balance()).to.equal(1);
  });

  it('is not handed over once it has acted as staff, so that the audit log names who did it', async () => {
    const customer = await service.createCustomer(null);
    const account = `/admin/accounts/${await findAccountUuid(service, customer)}/`;
    expect((await console.act(`${account}adjust/`, { credits: '1' })).status).to.equal(303);
    const heir = await addMember(console.member('admin'), 'admin');
    const { uuid } = await findListed(console.member('admin'), heir);
    expectError(
      await console.member('admin').requestWithSession('POST', `/api/members/${uuid}/hand-over/`),
      'validation_error',
      'has acted as staff',
    );
  });
});
