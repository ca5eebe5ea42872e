import { expect } from 'chai';
import { ALL_TASK_KINDS } from '../../shared/domain/privacy/taskKinds.ts';
import { STAFF_ROLES, hasPermission } from '../../shared/spec/staff.ts';
import type { TestCustomer } from '../harness/apiClient.ts';
import { findAccountUuid, readAudit, REASON, useStaffService } from '../harness/staffConsole.ts';

const TOKEN = '0b6f7a52-1c3d-4e5f-8a9b-0c1d2e3f4a5b';

interface StoredTask {
  id: number;
  run_at: Date | null;
  lease: string | null;
  attempts: number;
}

const readSection = (text: string, id: string) => (text.split(`id="${id}"`)[1] ?? '').split('</section>')[0] ?? '';
const readRow = (text: string, kind: string) =>
  readSection(text, 'kinds')
    .split('<tr>')
    .find((row) => row.includes(`>${kind}</a>`)) ?? '';

describe('the tasks page of staff', () => {
  const { console, service } = useStaffService();
  let customer: TestCustomer;
  before(async () => {
    customer = await service.createCustomer('pro');
  });
  beforeEach(() => service.sql('DELETE FROM tasks'));

  /** Adds a task that has failed, unless `columns` say otherwise. @returns the path of its page. */
  async function addTask(kind: string, key: string, columns: Record<string, string> = {}): Promise<string> {
    const values: Record<string, string> = {
      run_at: `now() + interval '1 hour'`,
      attempts: '3',
      last_error: `'connect <ECONNREFUSED>'`,
      created_at: 'now()',
      ...columns,
    };
    const [task] = await service.sql(
      `INSERT INTO tasks (kind, key, ${Object.keys(values).join(', ')})
       VALUES ($1, $2, ${Object.values(values).join(', ')}) RETURNING id`,
      [kind, key],
    );
    return `/admin/tasks/${task.id}/run/`;
  }
  const addGivenUp = (kind: string, key: string) => addTask(kind, key, { run_at: 'NULL', attempts: '12' });
  const ofCustomer = async () => ({ account_id: `(SELECT id FROM accounts WHERE email = '${customer.email}')` });
  const HELD = { lease: 'gen_random_uuid()', run_at: `now() + interval '5 minutes'` };

  const readTask = async (key: string): Promise<StoredTask> =>
    (await service.sql('SELECT * FROM tasks WHERE key = $1', [key]))[0];
  const isDue = async (key: string) => {
    const { run_at: runAt } = await readTask(key);
    return runAt !== null && runAt <= service.now;
  };
  const readEntries = () => service.sql(`SELECT * FROM audit_entries WHERE action LIKE 'task.%' ORDER BY number`);
  const countEntries = async () => (await readEntries()).length;
  it('counts tasks by kind, with the age of the oldest that is due, also of kinds without tasks', async () => {
    await addTask('email.send', '1', { run_at: `now() - interval '20 minutes'`, attempts: '0' });
    await addTask('email.send', '2', { run_at: `now() - interval '1 minute'` });
    await addTask('email.send', '3', HELD);
    await addGivenUp('payment.event', 'evt_1');
    const { status, text } = await console.visit('/admin/tasks/', 'support');
    expect(status).to.equal(200);
    const readCounts = (kind: string) =>
      [...readRow(text, kind).matchAll(/<td class="number">([^<]*)</g)].map(([, count]) => count);
    expect(readCounts('email.send')).to.deep.equal(['2', '20 min', '1', '2', '0']);
    expect(readCounts('payment.event')).to.deep.equal(['0', '', '0', '0', '1']);
    for (const { name } of ALL_TASK_KINDS) expect(readRow(text, name), name).to.not.equal('');
    expect(readRow(text, 'email.send')).to.include('/admin/runbooks/GenmeterTasksOverdue/');
    expect(readRow(text, 'payment.event')).to.include('/admin/runbooks/GenmeterTaskGivenUp/');
    expect(readRow(text, 'payout.transfer')).to.not.include('/admin/runbooks/');
  });

  it('lists tasks that fail or were given up, with their account, and no others', async () => {
    await addTask('refund.issue', 'refund-1', await ofCustomer());
    await addGivenUp('payment.event', 'evt_1');
    await addTask('payout.transfer', 'waits', { attempts: '0' });
    const troubled = readSection((await console.visit('/admin/tasks/')).text, 'troubled');
    expect(troubled)
      .to.include('refund-1')
      .and.to.include(`href="/admin/accounts/${await findAccountUuid(service, customer)}/"`)
      .and.to.include('connect &lt;ECONNREFUSED>')
      .and.to.include('given up');
    expect(troubled).to.not.include('waits');
    expect(troubled.indexOf('evt_1')).to.be.below(troubled.indexOf('refund-1'));
  });

  it('lists one kind, and rejects a kind that does not exist', async () => {
    await addTask('refund.issue', 'refund-1');
    await addTask('email.send', 'in_1');
    const { text } = await console.visit('/admin/tasks/?kind=refund.issue');
    expect(readSection(text, 'troubled')).to.include('refund-1').and.to.not.include('in_1');
    expect((await console.visit('/admin/tasks/?kind=missing')).status).to.equal(404);
    expect((await console.visit('/admin/tasks/kinds/missing/run/')).status).to.equal(404);
  });

  it('does not show the key of files, which opens them', async () => {
    await addTask('generation.deleteFiles', TOKEN);
    const path = await addTask('upload.deleteFiles', TOKEN);
    for (const page of ['/admin/tasks/', path]) {
      const { text } = await console.visit(page);
      expect(text).to.include('0b6f7a52…').and.to.not.include(TOKEN);
    }
    await console.act(path);
    expect((await readEntries()).at(-1)).to.include({ target_id: 'upload.deleteFiles 0b6f7a52…' });
  });

  it('runs a task now, with an audit entry', async () => {
    const path = await addTask('refund.issue', 'refund-1', await ofCustomer());
    const done = await console.act(path, {}, 'ops');
    expect([done.status, done.headers.get('location')]).to.deep.equal([303, '/admin/tasks/?done=run']);
    expect((await console.visit('/admin/tasks/?done=run', 'ops')).text).to.include('<title>The task is due now ·');
    expect(await isDue('refund-1')).to.equal(true);
    const [entry] = (await readAudit(service, customer)).slice(-1);
    expect(entry).to.include({
      action: 'task.run',
      target_type: 'task',
      target_id: 'refund.issue refund-1',
      role: 'ops',
      reason: REASON,
    });
    expect(new Date(entry.after.runAt) < new Date(entry.before.runAt)).to.equal(true);
  });

  it('runs a task again that was given up', async () => {
    await console.act(await addGivenUp('payment.event', 'evt_1'));
    expect(await isDue('evt_1')).to.equal(true);
    expect((await readEntries()).at(-1).before).to.deep.equal({ runAt: 'given up' });
  });

  it('leaves a task alone that a worker runs, that does not fail, or that is done', async () => {
    const held = await addTask('refund.issue', 'held', HELD);
    const before = [await countEntries(), await readTask('held')];
    expect((await console.act(held)).headers.get('location')).to.equal('/admin/tasks/?done=unchanged');
    expect([await countEntries(), await readTask('held')]).to.deep.equal(before);
    const waits = await addTask('upload.deleteFiles', 'waits', { attempts: '0' });
    const fields = await console.readForm(held);
    expect((await console.send(waits, fields)).headers.get('location')).to.equal('/admin/tasks/?done=unchanged');
    expect((await console.visit(waits)).text).to.include('This task does not fail.');
    expect(await isDue('waits')).to.equal(false);
    await service.sql('DELETE FROM tasks');
    for (const path of [held, '/admin/tasks/x/run/']) expect((await console.visit(path)).status).to.equal(404);
    expect(await countEntries()).to.equal(before[0]);
  });

  it('runs all tasks of a kind that fail or were given up, with one audit entry', async () => {
    await addTask('upload.deleteFiles', 'failing');
    await addGivenUp('upload.deleteFiles', 'given up');
    await addTask('upload.deleteFiles', 'waits', { attempts: '0' });
    await addTask('upload.deleteFiles', 'held', HELD);
    await addTask('refund.issue', 'other');
    const path = '/admin/tasks/kinds/upload.deleteFiles/run/';
    const entries = await countEntries();
    const done = await console.act(path);
    expect(done.headers.get('location')).to.equal('/admin/tasks/?done=run-all');
    const due = [];
    for (const key of ['failing', 'given up', 'waits', 'held', 'other']) if (await isDue(key)) due.push(key);
    expect(due).to.deep.equal(['failing', 'given up']);
    expect(await countEntries()).to.equal(entries + 1);
    expect((await readEntries()).at(-1)).to.deep.include({
      action: 'task.run_kind',
      account_id: null,
      target_id: 'upload.deleteFiles',
      after: { tasks: 2 },
    });
    await service.sql(`DELETE FROM tasks WHERE key <> 'held'`);
    expect((await console.act(path)).headers.get('location')).to.equal('/admin/tasks/?done=unchanged');
  });

  it('offers its actions to the roles that manage queues', async () => {
    const path = await addTask('refund.issue', 'refund-1', await ofCustomer());
    for (const role of STAFF_ROLES) {
      for (const page of ['/admin/tasks/', `/admin/accounts/${await findAccountUuid(service, customer)}/`]) {
        const { text } = await console.visit(page, role);
        expect(text).to.include('refund-1');
        expect(text.includes(`href="${path}"`), `${role} ${page}`).to.equal(hasPermission(role, 'manageQueues'));
      }
    }
  });

  it('rejects the task of a member of staff for all roles but admin', async () => {
    const path = await addTask('account.delete', 'staff', {
      account_id: `(SELECT id FROM accounts WHERE email = '${console.email('support')}')`,
    });
    const { status, text } = await console.act(path, {}, 'ops');
    expect([status, text.includes('requires the role admin')]).to.deep.equal([403, true]);
    expect(await isDue('staff')).to.equal(false);
    expect((await console.act(path)).status).to.equal(303);
  });

  it('is linked from the dashboard and the incident page, which names kinds that do not run', async () => {
    await addTask('payout.transfer', 'late', { run_at: `now() - interval '3 minutes'`, attempts: '0' });
    await addTask('email.send', 'on time', { run_at: `now() - interval '10 seconds'` });
    await addGivenUp('payment.event', 'evt_1');
    expect((await console.visit('/admin/')).text).to.include('<a href="/admin/tasks/">Errors and actions</a>');
    const queues = readSection((await console.visit('/admin/incident/', 'support')).text, 'queues');
    expect(queues)
      .to.include('Tasks payout.transfer that are due')
      .and.to.include('href="/admin/tasks/?kind=payout.transfer"')
      .and.to.include('href="/admin/runbooks/GenmeterTasksOverdue/"')
      .and.to.include('Tasks given up');
    expect(queues).to.not.include('email.send');
  });
});
