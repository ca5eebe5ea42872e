import { expect } from 'chai';
import type { StaffRole } from '../../shared/spec/staff.ts';
import type { TestCustomer } from '../harness/apiClient.ts';
import { findAccountUuid, StaffConsole } from '../harness/staffConsole.ts';
import { startTestService, type TestService } from '../harness/testService.ts';

describe('what a member of staff may do alone', () => {
  const console = new StaffConsole();
  let service: TestService;
  before(async () => {
    service = await startTestService({ workers: 0, env: { STAFF_EMAILS: console.staffEmails } });
    await console.open(service);
  });
  after(() => service.stop());

  it('is nothing on accounts of staff, their own included, except for the role admin', async () => {
    const find = async (role: StaffRole) =>
      `/admin/accounts/${await findAccountUuid(service, { email: console.email(role) })}/`;
    const rejected = async (path: string, typed: Record<string, string>, role: StaffRole) => {
      const { status, text } = await console.act(path, typed, role);
      expect([status, text.includes('requires the role admin')], `${role} ${path}`).to.deep.equal([403, true]);
    };
    await rejected(`${await find('finance')}adjust/`, { credits: '50' }, 'finance');
    await rejected(`${await find('ops')}adjust/`, { credits: '50' }, 'finance');
    await rejected(`${await find('admin')}revoke-access/`, {}, 'support');
    await rejected(`${await find('admin')}sign-out/`, {}, 'ops');
    const [key] = (await console.member('admin').request('GET', '/api/keys/')).body.data;
    await rejected(`/admin/keys/${key.uuid}/revoke/`, {}, 'support');
    expect((await console.member('admin').request('GET', '/api/keys/')).status).to.equal(200);
    expect(await console.member('finance').balance()).to.equal(0);
    expect((await console.act(`${await find('finance')}adjust/`, { credits: '1' })).status).to.equal(303);
  });

  it('gives back at most the credits of the role within 24 hours, also at once', async () => {
    const [first, second] = [await service.createCustomer('pro'), await service.createCustomer('pro')];
    const find = async (customer: TestCustomer) => `/admin/accounts/${await findAccountUuid(service, customer)}/`;
    const account = await find(first);
    const paths = [account, await find(second)];
    // 100 are left after this.
    expect((await console.act(`${account}adjust/`, { credits: '99900' }, 'finance')).status).to.equal(303);
    const answers = await Promise.all(paths.map((path) => console.act(`${path}adjust/`, { credits: '60' }, 'finance')));
    expect(answers.map(({ status }) => status)).to.have.members([303, 403]);
    expect(answers.find(({ status }) => status === 403)?.text).to.include('40 are left to you');
    expect((await console.act(`${account}adjust/`, { credits: '-60' }, 'finance')).status).to.equal(303);
    expect((await console.act(`${account}adjust/`, { credits: '41' }, 'finance')).status).to.equal(403);
    expect((await console.act(`${account}adjust/`, { credits: '41' })).status).to.equal(303);
    await service.moveClockTo(new Date(service.now.getTime() + 86_400_000 + 1_000));
    expect((await console.act(`${account}adjust/`, { credits: '41' }, 'finance')).status).to.equal(303);
  });
});
