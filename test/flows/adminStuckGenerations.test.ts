import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { runAdminInProcess } from '../harness/adminCommand.ts';
import type { TestCustomer } from '../harness/apiClient.ts';
import { setAllModelsOnline } from '../harness/seeds.ts';
import { eventually, type TestService, startTestService } from '../harness/testService.ts';

const IDLE_MS = 5 * 60_000;

describe('list-stuck-generations and requeue-generations', () => {
  let service: TestService;
  let customer: TestCustomer;
  before(async () => {
    service = await startTestService({ workers: 0, spawn: 'all' });
    await setAllModelsOnline(service);
    customer = await service.createCustomer('pro');
  });
  after(() => service.stop());

  const admin = (...args: string[]) => runAdminInProcess(args, service.env);

  /** Creates a generation that has waited for a long time without being dispatched. */
  const stuckImage = async () => {
    await service.moveClockTo(new Date(Date.now() - IDLE_MS));
    const { uuid } = await customer.createImage();
    await service.moveClockTo(new Date());
    await service.sql(`UPDATE generations SET next_attempt_at = now() + interval '1 hour' WHERE uuid = $1`, [uuid]);
    return uuid as string;
  };

  it('list generations without progress, and skip those that are new, leased, or recently polled', async () => {
    const [stuck, fresh, held, looked] = [
      await stuckImage(),
      (await customer.createImage()).uuid,
      await stuckImage(),
      await stuckImage(),
    ];
    await service.sql(`UPDATE generations SET leased_until = now() + interval '5 minutes' WHERE uuid = $1`, [held]);
    await service.sql('UPDATE generations SET polled_at = now() WHERE uuid = $1', [looked]);
    const { status, out } = await admin('list-stuck-generations');
    expect(status).to.equal(0);
    expect(out).to.include(stuck).and.to.include('not submitted');
    for (const uuid of [fresh, held, looked]) expect(out).to.not.include(uuid);
    expect((await admin('list-stuck-generations', '--idle', '0')).out).to.include(fresh);

    const forced = await admin('requeue-generations', stuck, held, randomUUID(), '--apply');
    expect(forced.status).to.equal(0);
    expect(forced.out).to.include(`${stuck} requeued.`).and.to.include(`${held} skipped`);
    await service.sql(
      `WITH over AS (SELECT uuid FROM generations WHERE status = 'queued')
       UPDATE generations SET leased_until = NULL, deadline_at = now() WHERE uuid IN (SELECT uuid FROM over)`,
    );
    // A worker fails and refunds generations that are past their deadline.
    const worker = await service.startWorker();
    await eventually('slots are free', async () => {
      const [row] = await service.sql('SELECT in_flight FROM accounts WHERE email = $1', [customer.email]);
      return row.in_flight === 0;
    });
    await worker.stop();
  });

  it('change nothing without --apply; then a worker completes the generation, charged once', async () => {
    const uuid = await stuckImage();
    const tried = await admin('requeue-generations', '--all');
    expect(tried.out).to.include(uuid).and.to.include('Nothing was changed');
    const [{ next_attempt_at: before }] = await service.sql('SELECT next_attempt_at FROM generations WHERE uuid = $1', [
      uuid,
    ]);
    expect(before.getTime()).to.be.above(Date.now());
    const { status, out } = await admin('requeue-generations', '--all', '--apply');
    expect(status).to.equal(0);
    expect(out).to.include(`${uuid} requeued.`);
    const entries = await service.sql('SELECT action FROM audit_entries WHERE target_id = $1', [uuid]);
    expect(entries).to.deep.equal([{ action: 'generation.requeue' }]);
    const worker = await service.startWorker();
    expect((await customer.waitForEnd(uuid)).status).to.equal('succeeded');
    await worker.stop();
    expect(service.upstream.submits).to.equal(1);
    await service.checkIntegrity();
    expect((await admin('requeue-generations', uuid, '--apply')).out).to.include('skipped');
  });

  it('select a generation by UUID, or with --all more than a thousand generations', async () => {
    const newest = await stuckImage();
    const older = 1_100;
    const isCopy = `uuid::text LIKE '00000000-0000-7000-8000-%'`;
    // These copies were not charged, so the triggers that count generations are disabled.
    const unseen = (statement: string) =>
      service.sql(`BEGIN; SET LOCAL session_replication_role = replica; ${statement}; COMMIT`);
    await unseen(
      `CREATE TEMP TABLE copies ON COMMIT DROP AS
         SELECT g.* FROM generations g, generate_series(1, ${older}) WHERE g.uuid = '${newest}';
       UPDATE copies SET uuid = cast('00000000-0000-7000-8000-' || lpad(n::text, 12, '0') AS uuid), number = -n
         FROM (SELECT ctid AS row, row_number() OVER () AS n FROM copies) AS numbered WHERE copies.ctid = row;
       INSERT INTO generations SELECT * FROM copies`,
    );
    expect((await admin('requeue-generations', newest)).out).to.include('1 would be requeued.');
    const named = await admin('requeue-generations', newest.toUpperCase(), newest, '--apply');
    expect(named.out).to.include(`${newest} requeued.`).and.to.include('\n1 requeued.');
    expect(named.out).to.not.include('skipped');

    const count = `${older + 1}`;
    expect((await admin('requeue-generations', '--all')).out).to.include(`${count} would be requeued.`);
    expect((await admin('requeue-generations', '--all', '--apply')).out).to.include(`\n${count} requeued.`);
    const [{ due }] = await service.sql(
      `SELECT count(*)::int AS due FROM generations WHERE next_attempt_at <= now() AND ${isCopy}`,
    );
    expect(due).to.equal(older);
    await unseen(`DELETE FROM generations WHERE ${isCopy}`);
  });
});
