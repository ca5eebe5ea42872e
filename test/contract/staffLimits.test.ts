import { expect } from 'chai';
import { postCreditAdjustment } from '../../shared/domain/adjustments/creditAdjustments.ts';
import type { StaffRole } from '../../shared/spec/staff.ts';
import type { TestCustomer } from '../harness/apiClient.ts';
import { runAdmin } from '../harness/adminCommand.ts';
import { captureError } from '../harness/expectRejection.ts';
import { findAccountUuid, readAudit, StaffConsole } from '../harness/staffConsole.ts';
import { startTestService, type TestService } from '../harness/testService.ts';

describe('what a member of staff may do alone', () => {
  const console = new StaffConsole();
  let service: TestService;
  before(async () => {
    const env = { STAFF_EMAILS: console.staffEmails, STAFF_APPROVAL_CREDITS: '99950' };
    service = await startTestService({ workers: 0, env });
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
    expect(answers.find(({ status }) => status === 403)?.text).to.include('40 are left');
    expect((await console.act(`${account}adjust/`, { credits: '-60' }, 'finance')).status).to.equal(303);
    expect((await console.act(`${account}adjust/`, { credits: '41' }, 'finance')).status).to.equal(403);
    expect((await console.act(`${account}adjust/`, { credits: '41' })).status).to.equal(303);
    await service.moveClockTo(new Date(service.now.getTime() + 86_400_000 + 1_000));
    expect((await console.act(`${account}adjust/`, { credits: '41' }, 'finance')).status).to.equal(303);
  });

  /** Checks that the pages of a decision show a sentence instead of their forms. */
  async function expectClosed(path: string, sentence: string): Promise<void> {
    for (const action of [`${path}approve/`, `${path}reject/`]) {
      const { status, text } = await console.visit(action);
      expect([status, text.includes(sentence), text.includes('name="reason"')], action).to.deep.equal([
        200,
        true,
        false,
      ]);
    }
  }

  describe('of a large adjustment', () => {
    let customer: TestCustomer;
    let account: string;
    beforeEach(async () => {
      customer = await service.createCustomer(null);
      account = `/admin/accounts/${await findAccountUuid(service, customer)}/`;
      // No member has given back anything within the last day.
      await service.moveClockTo(new Date(service.now.getTime() + 86_400_000 + 1_000));
    });

    /** Requests an adjustment. @returns the path of its decision, without its last part. */
    async function request(credits: number, role: StaffRole, path = account): Promise<string> {
      const { status, headers } = await console.act(`${path}adjust/`, { credits: String(credits) }, role);
      expect([status, headers.get('location')]).to.deep.equal([303, `${path}?done=approval-requested`]);
      const [{ uuid }] = await service.sql('SELECT uuid FROM staff_approvals ORDER BY requested_at DESC LIMIT 1');
      return `/admin/approvals/${uuid}/`;
    }

    it('is requested once if its form is sent for two accounts at once', async () => {
      const other = `/admin/accounts/${await findAccountUuid(service, await service.createCustomer(null))}/`;
      const form = { ...(await console.readForm(`${account}adjust/`, 'finance')), credits: '99950' };
      const answers = await Promise.all(
        [account, other].map((path) => console.send(`${path}adjust/`, form, { role: 'finance' })),
      );
      expect(answers.map(({ status }) => status)).to.have.members([303, 400]);
    });

    it('is a request, which another member approves once', async () => {
      const form: Record<string, string> = {
        ...(await console.readForm(`${account}adjust/`, 'finance')),
        credits: '99950',
      };
      for (const done of ['approval-requested', 'unchanged'])
        expect((await console.send(`${account}adjust/`, form, { role: 'finance' })).headers.get('location')).to.equal(
          `${account}?done=${done}`,
        );
      expect(
        (await console.send(`${account}adjust/`, { ...form, credits: '99951' }, { role: 'finance' })).status,
      ).to.equal(400);
      expect((await console.visit(`${account}adjust/`)).text).to.include('From 99,950 credits on, added or removed');
      expect(await customer.balance()).to.equal(0);
      const path = `/admin/approvals/${form['request']}/`;
      for (const page of ['/admin/', account]) {
        const [own, other] = [await console.visit(page, 'finance'), await console.visit(page)];
        expect([own.text.includes('Another member decides'), own.text.includes(path)], page).to.deep.equal([
          true,
          false,
        ]);
        expect([other.text.includes(`${path}approve/`), other.text.includes(`${path}reject/`)]).to.deep.equal([
          true,
          true,
        ]);
      }
      const own = await console.act(`${path}approve/`, {}, 'finance');
      expect([own.status, own.text.includes('another member of staff must decide')]).to.deep.equal([403, true]);

      const fields = await console.readForm(`${path}approve/`);
      const answers = await Promise.all([1, 2, 3].map(() => console.send(`${path}approve/`, fields)));
      expect(answers.map(({ headers }) => headers.get('location'))).to.have.members(
        ['adjusted', 'unchanged', 'unchanged'].map((done) => `${account}?done=${done}`),
      );
      expect(await customer.balance()).to.equal(99_950);
      await expectClosed(path, 'The request was approved before.');
      const emails = await service.sql(
        `SELECT e.action, a.email FROM audit_entries e JOIN accounts a ON a.id = e.actor_account_id
          WHERE e.after ->> 'approval' = $1 ORDER BY e.number`,
        [form['request']],
      );
      expect(emails.map(({ action, email }) => [action, email])).to.deep.equal([
        ['credits.request', console.email('finance')],
        ['credits.approve', console.email('admin')],
        ['credits.adjust', console.email('finance')],
      ]);
      const [requested, approved, adjusted] = await readAudit(service, customer);
      expect(adjusted.after.approvedByAccount).to.equal(Number(approved.actor_account_id));
      expect(approved.after.requestedByAccount).to.equal(Number(requested.actor_account_id));
      expect(adjusted.request_id).to.equal(requested.request_id);
      await service.checkIntegrity();
    });

    it('changes nothing when it is rejected, or when it was not decided within 24 hours', async () => {
      const rejected = await request(99_950, 'finance');
      expect((await console.act(`${rejected}reject/`)).status).to.equal(303);
      await expectClosed(rejected, 'The request was rejected before.');
      const expired = await request(99_950, 'finance');
      await service.moveClockTo(new Date(service.now.getTime() + 86_400_000 + 1_000));
      await expectClosed(expired, 'The request has expired after 24 hours.');
      expect((await console.visit(account)).text).to.not.include('Adjustments to approve');
      expect(await customer.balance()).to.equal(0);
    });

    it('is not decided by an admin who requested it, nor by the owner of the account', async () => {
      const own = `/admin/accounts/${await findAccountUuid(service, { email: console.email('admin') })}/`;
      for (const path of [account, own]) {
        const requested = await request(99_950, 'admin', path);
        expect((await console.act(`${requested}approve/`)).status).to.equal(403);
        expect((await console.act(`${requested}reject/`)).status).to.equal(403);
      }
      // Requested by finance while the customer's account was no account of staff.
      const ofAdmin = await request(99_950, 'finance');
      await service.sql(
        `UPDATE staff_approvals SET account_id = (SELECT id FROM accounts WHERE email = $1) WHERE uuid = $2`,
        [console.email('admin'), ofAdmin.split('/')[3]],
      );
      const answer = await console.act(`${ofAdmin}approve/`);
      expect([answer.status, answer.text.includes('The account is your own')]).to.deep.equal([403, true]);
    });

    it('is rejected by the command grant-credits, which names the page to request it at', async () => {
      for (const more of [[], ['--apply']]) {
        const command = ['grant-credits', customer.email, '99950', '--request', 'large', ...more];
        const { status, out, err } = await runAdmin(command, service.env);
        expect([status, out]).to.deep.equal([1, '']);
        expect(err).to.include('second member of staff').and.to.include(`${account}adjust/`);
      }
      expect(await customer.balance()).to.equal(0);
    });

    it('is rejected where it is posted, unless it was posted before', async () => {
      const { id } = (await service.sql('SELECT id FROM accounts WHERE email = $1', [customer.email]))[0];
      const adjustment = { accountId: Number(id), credits: 99_950, requestName: `T-${id}`, note: '' };
      const post = () => postCreditAdjustment(adjustment, { kind: 'system', systemUser: 'test', reason: '' });
      expect(await captureError(post())).to.include({ code: 'admin_required' });
      const { env } = service;
      const grant = ['grant-credits', customer.email, '99950', '--request', adjustment.requestName];
      expect((await runAdmin([...grant, '--apply'], { ...env, STAFF_APPROVAL_CREDITS: '' })).status).to.equal(0);
      for (const [more, done] of [
        [[], 'would change'],
        [['--apply'], 'was changed'],
      ] as const)
        expect((await runAdmin([...grant, ...more], env)).out).to.include(`Nothing ${done}`);
      expect(await post()).to.include({ isRepeat: true });
      expect(await customer.balance()).to.equal(99_950);
    });
  });
});
