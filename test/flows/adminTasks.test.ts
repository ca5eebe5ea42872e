import { expect } from 'chai';
import { runAdminInProcess } from '../harness/adminCommand.ts';
import { type TestService, startTestService } from '../harness/testService.ts';

describe('list-tasks and run-tasks', () => {
  let service: TestService;
  before(async () => {
    service = await startTestService({ workers: 0, spawn: 'all' });
    await service.sql(
      `INSERT INTO tasks (kind, key, run_at, lease, attempts, last_error, created_at)
       VALUES ('payment.event', 'evt_1', NULL, NULL, 10, 'no such customer', now()),
              ('payment.event', 'evt_2', now() + interval '1 hour', NULL, 1, 'timeout', now()),
              ('payment.event', 'evt_3', now() + interval '5 minutes', gen_random_uuid(), 1, 'timeout', now()),
              ('payout.transfer', 'waits', now() + interval '1 hour', NULL, 0, NULL, now())`,
    );
  });
  after(() => service.stop());

  const admin = (...args: string[]) => runAdminInProcess(args, service.env);
  const listDue = async () =>
    (await service.sql('SELECT key FROM tasks WHERE run_at <= now() ORDER BY key')).map(({ key }) => key);

  it('list tasks that fail or were given up, of all kinds or of one', async () => {
    const { status, out } = await admin('list-tasks');
    expect(status).to.equal(0);
    expect(out).to.include('no such customer').and.to.include('given up').and.to.include('running');
    expect(out).to.not.include('waits');
    expect((await admin('list-tasks', 'payout.transfer')).out).to.include('No task fails');
    expect((await admin('list-tasks', 'missing')).status).to.equal(2);
  });

  it('change nothing without --apply', async () => {
    expect((await admin('run-tasks', 'payment.event')).out).to.include('3 tasks of the kind payment.event to run');
    expect((await admin('run-tasks', 'payment.event', 'evt_1')).out).to.include('1 task of the kind');
    expect(await listDue()).to.deep.equal([]);
  });

  it('run one task or all of a kind, leave those alone that a worker runs, and write the audit log', async () => {
    expect((await admin('run-tasks', 'payment.event', 'evt_1', '--reason', 'repaired', '--apply')).out).to.include(
      '1 task of the kind payment.event will run now.',
    );
    expect(await listDue()).to.deep.equal(['evt_1']);
    for (const key of ['evt_3', 'evt_4'])
      expect((await admin('run-tasks', 'payment.event', key, '--apply')).out).to.include('0 tasks');
    expect((await admin('run-tasks', 'payment.event', '--apply')).out).to.include('2 tasks');
    expect(await listDue()).to.deep.equal(['evt_1', 'evt_2']);
    const entries = await service.sql('SELECT action, target_id, role, reason FROM audit_entries ORDER BY number');
    expect(entries).to.deep.equal([
      { action: 'task.run', target_id: 'payment.event evt_1', role: 'system', reason: 'repaired' },
      { action: 'task.run_kind', target_id: 'payment.event', role: 'system', reason: '' },
    ]);
  });
});
