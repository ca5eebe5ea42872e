import { randomUUID } from 'node:crypto';
import { userInfo } from 'node:os';
import { expect } from 'chai';
import { runAdmin, runAdminInProcess } from '../harness/adminCommand.ts';
import { IMAGE, type TestCustomer } from '../harness/apiClient.ts';
import { createDatabase } from '../harness/databases.ts';
import { expectError } from '../harness/errorEnvelope.ts';
import { handOver } from '../harness/members.ts';
import { completeAllGenerations, setAllModelsOnline } from '../harness/seeds.ts';
import { findAccountUuid, readAudit } from '../harness/staffConsole.ts';
import { useTestService } from '../harness/testService.ts';

const IDLE_MS = 5 * 60_000;

describe('npm run admin', () => {
  const service = useTestService({ workers: 0, spawn: 'all' });
  let customer: TestCustomer;
  before(async () => {
    customer = await service.createCustomer('pro');
  });
  beforeEach(() => setAllModelsOnline(service));

  const admin = (...args: string[]) => runAdminInProcess(args, service.env);
  const toGrant = (request: string, ...more: string[]) =>
    ['grant-credits', customer.email, '250', '--request', request, '--note', 'the outage of May'].concat(more);
  const grant = (...options: [string, ...string[]]) => admin(...toGrant(...options));

  const listDue = async () =>
    (await service.sql(`SELECT key FROM tasks WHERE kind = 'payment.event' AND run_at <= now() ORDER BY key`)).map(
      ({ key }) => key,
    );

  /** Creates a generation that has waited for a long time without being dispatched. */
  const stuckImage = async () => {
    await service.moveClockTo(new Date(Date.now() - IDLE_MS));
    const { uuid } = await customer.createImage();
    await service.moveClockTo(new Date());
    await service.sql(`UPDATE generations SET next_attempt_at = now() + interval '1 hour' WHERE uuid = $1`, [uuid]);
    return uuid as string;
  };

  it('prints help for itself and each command without any configuration', async () => {
    const { status, out } = await runAdmin(['--help']);
    expect(status).to.equal(0);
    const names = [...out.matchAll(/^ {2}([a-z-]+) {2}/gm)].map(([, name]) => name as string);
    expect(names).to.deep.equal([
      'find-account',
      'grant-credits',
      'create-gift-code',
      'list-gift-codes',
      'revoke-gift-code',
      'list-stuck-generations',
      'requeue-generations',
      'list-tasks',
      'run-tasks',
      'try-upstream',
      'refund-generation',
      'revoke-key',
      'revoke-access',
      'suspend-account',
      'reinstate-account',
      'remove-identity',
      'export-account',
      'erase-account',
    ]);
    const explained = await Promise.all(names.map((name) => runAdminInProcess([name, '--help'])));
    for (const [index, { status, out, err }] of explained.entries()) {
      expect([status, err]).to.deep.equal([0, '']);
      expect(out).to.include(`npm run admin -- ${names[index]}`);
    }
    expect((await runAdmin(['find-account', 'a@example.com'], { DATA_DIR: '/nonexistent' })).status).to.equal(78);
  });

  it('exits with 2 and prints the usage for invalid arguments', async () => {
    const calls = [
      [],
      ['burn-everything'],
      ['constructor'],
      ['find-account'],
      ['grant-credits', 'a@example.com', '250'],
      ['grant-credits', 'a@example.com', '-5', '--request', 'a'],
      ['grant-credits', 'a@example.com', '2.5', '--request', 'a'],
      ['grant-credits', 'a@example.com', '250', '--request', 'a', '--apply', '--dry-run'],
      ['grant-credits', 'a@example.com', '250', '--request', 'a', '--forse'],
      ['requeue-generations'],
      ['list-stuck-generations', '--idle', 'soon'],
    ];
    const ended = await Promise.all(calls.map((call) => admin(...call)));
    expect(ended.map(({ status }) => status)).to.deep.equal(calls.map(() => 2));
    for (const { out, err } of ended) expect(out + err).to.include('npm run admin --');
  });

  it('requires only the settings of the database and Redis, in production too', async () => {
    const { DATABASE_URL = '', REDIS_URL = '', REDIS_PREFIX = '' } = service.env;
    const env = { NODE_ENV: 'production', DATABASE_URL, REDIS_URL, REDIS_PREFIX };
    const bare = await runAdmin(['find-account', customer.email], env);
    expect([bare.status, bare.err]).to.deep.equal([0, '']);
    const broken = { STRIPE_SECRET_KEY: 'none', PORT: 'none', UPSTREAMS: 'none', GOOGLE_CLIENT_ID: 'half' };
    expect((await runAdminInProcess(['list-stuck-generations'], { ...env, ...broken })).status).to.equal(0);
    const { status, err } = await runAdmin(['list-stuck-generations'], { DATABASE_URL });
    expect([status, err]).to.deep.equal([
      78,
      'REDIS_URL is not set: it must be an address such as redis://host:6379, redis+sentinel://host:26379,host:26379/master or redis+cluster://host:6379,host:6379.\n',
    ]);
  });

  it('exits with 69 and one sentence when the database is unavailable', async () => {
    const empty = await createDatabase({ empty: true });
    const missing = empty.replace(/\/[^/]*$/, '/no_such_database');
    const command = ['grant-credits', 'a@example.com', '1', '--request', 'a'];
    const away = await runAdmin(command, { ...service.env, DATABASE_URL: 'postgres://app@127.0.0.1:1/genmeter' });
    const unmigrated = await runAdminInProcess(command, { ...service.env, DATABASE_URL: empty });
    const refused = await runAdminInProcess(command, { ...service.env, DATABASE_URL: missing });
    expect([away.status, unmigrated.status, refused.status]).to.deep.equal([69, 69, 69]);
    expect(away.err).to.match(/^The database genmeter at 127\.0\.0\.1:1 is unreachable \(ECONNREFUSED\)\.\n$/m);
    expect(unmigrated.err).to.match(/^The database \S+ at \S+ is not migrated to this version: .*\.\n$/m);
    expect(refused.err).to.match(/^The database no_such_database at \S+ rejected the connection: .*\.\n$/m);
    for (const ended of [away, unmigrated, refused]) expect(ended.out).to.not.include('Nothing was changed');
  });

  describe('find-account', () => {
    it('finds an account by e-mail address and number, with credits, keys and ledger', async () => {
      const [row] = await service.sql('SELECT id, uuid FROM accounts WHERE email = $1', [customer.email]);
      const names = [customer.email.toUpperCase(), String(row.id)];
      for (const name of names) {
        const { status, out } = await admin('find-account', name);
        expect(status).to.equal(0);
        expect(out).to.include(customer.email).and.to.include(row.uuid).and.to.include('pro, active');
        expect(out).to.include(customer.key.slice(0, 12)).and.to.include('Monthly credits: Pro plan');
        expect(out).to.not.include(customer.key);
      }
    });

    it('exits with 1 and one sentence for an unknown account', async () => {
      const { status, out, err } = await admin('find-account', 'unknown@example.com');
      expect([status, out]).to.deep.equal([1, '']);
      expect(err).to.match(/^No account matches unknown@example\.com\. .*\.\n$/);
    });
  });

  it('acts on none of several accounts with an address, and names them', async () => {
    const [heir, owner] = [await service.createCustomer(null), await service.createCustomer(null)];
    await handOver(owner, heir);
    const rows = await service.sql('SELECT uuid FROM accounts WHERE email = $1 ORDER BY id', [heir.email]);
    const [first, second] = rows.map(({ uuid }) => uuid);
    const err = `2 accounts have this address. Use one of their UUIDs: ${first}, ${second}.\n`;
    const reason = ['--reason', 'a request of the owner'];
    for (const call of [
      ['find-account', heir.email],
      ['export-account', heir.email, ...reason],
      ['suspend-account', heir.email, ...reason, '--apply'],
      ['grant-credits', heir.email, '10', '--request', 'T-3', '--apply'],
    ])
      expect(await admin(...call), call[0]).to.deep.equal({ status: 1, out: '', err });
    expect((await admin('find-account', second)).out)
      .to.include(second)
      .and.not.include(first);
  });

  describe('grant-credits', () => {
    it('changes nothing without --apply, and then grants once per request, with its own description', async () => {
      const balance = await customer.balance();
      const tried = await grant('T-1');
      expect(tried.status).to.equal(0);
      expect(tried.out)
        .to.include(`${balance} -> ${balance + 250}`)
        .and.to.include('Nothing was changed');
      expect((await grant('T-1', '--dry-run')).out).to.include('Nothing was changed');
      expect(await customer.balance()).to.equal(balance);

      const ended = await Promise.all([1, 2, 3, 4].map(() => runAdmin(toGrant('T-1', '--apply'), service.env)));
      expect(ended.map(({ status }) => status)).to.deep.equal([0, 0, 0, 0]);
      expect(ended.filter(({ out }) => out.includes('Nothing was changed')).length).to.equal(3);
      expect(ended.filter(({ err }) => err.includes('"credit adjustment posted"')).length).to.equal(1);
      expect(await customer.balance()).to.equal(balance + 250);
      expect((await grant('T-1')).out).to.include('Nothing would change');

      const { body } = await customer.request('GET', '/api/ledger/');
      const { entry_type, amount, description } = body.data[0];
      expect([entry_type, amount, description]).to.deep.equal(['grant', 250, 'Goodwill credits: the outage of May']);
      const [{ topup_credits }] = await service.sql('SELECT topup_credits FROM accounts WHERE email = $1', [
        customer.email,
      ]);
      expect(topup_credits).to.equal(250);
      const entries = await readAudit(service, customer);
      expect(entries.map(({ action, reason, role }) => [action, reason, role])).to.deep.equal([
        ['credits.adjust', 'the outage of May', 'system'],
      ]);
      expect(entries[0]).to.deep.include({
        command_user: userInfo().username,
        actor_account_id: null,
        request_id: null,
      });
      await service.checkIntegrity();
    });

    it('rejects a request name that was used for another grant', async () => {
      const other = await service.createCustomer(null);
      const options = ['--request', 'T-2', '--apply'];
      expect((await admin('grant-credits', customer.email, '10', ...options)).status).to.equal(0);
      for (const call of [
        [customer.email, '11', ...options],
        [other.email, '10', ...options],
        [other.email, '10', '--request', 'T-2'],
      ]) {
        const { status, out, err } = await admin('grant-credits', ...call);
        expect([status, out]).to.deep.equal([1, '']);
        expect(err).to.include('T-2').and.to.include('another adjustment');
      }
      expect(await other.balance()).to.equal(0);
    });
  });

  describe('revoke-key', () => {
    it('changes nothing without --apply, and then revokes by prefix, UUID or the whole key', async () => {
      const owner = await service.createCustomer(null);
      const prefix = owner.key.slice(0, 12);
      const tried = await admin('revoke-key', prefix);
      expect(tried.status).to.equal(0);
      expect(tried.out)
        .to.include(owner.email)
        .and.to.include('would be revoked')
        .and.to.include('Nothing was changed');
      expect((await owner.request('GET', '/api/keys/')).status).to.equal(200);

      const done = await admin('revoke-key', prefix, '--apply');
      expect(done.out).to.include('is revoked.').and.to.not.include('{');
      expect(done.err).to.include('API key revoked by staff');
      expect((await owner.request('GET', '/api/keys/')).status).to.equal(401);
      expect((await readAudit(service, owner)).map(({ action }) => action)).to.deep.equal(['key.revoke']);
      const again = await admin('revoke-key', owner.key, '--apply');
      expect(again.status).to.equal(0);
      expect(again.out).to.include('Nothing was changed').and.to.not.include(owner.key);
    });

    it('lists keys with the same prefix, and does not print an unknown key', async () => {
      const owner = await service.createCustomer(null);
      const second = (await owner.requestWithSession('POST', '/api/keys/create/', { body: { name: 'second' } })).body;
      await service.sql('UPDATE api_keys SET prefix = $2 WHERE uuid = $1', [second.uuid, owner.key.slice(0, 12)]);
      const { status, out, err } = await admin('revoke-key', owner.key.slice(0, 12), '--apply');
      expect(status).to.equal(1);
      expect(out).to.include(second.uuid);
      expect(err).to.include('by its UUID');
      expect((await admin('revoke-key', second.uuid, '--apply')).out).to.include('is revoked.');
      const missing = `svc_${'0'.repeat(40)}`;
      const unknown = await admin('revoke-key', missing, '--apply');
      expect(unknown.status).to.equal(1);
      expect(unknown.err).to.not.include(missing);
    });
  });

  describe('list-stuck-generations and requeue-generations', () => {
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
      await service.sql('UPDATE generations SET leased_until = NULL WHERE uuid = $1', [held]);
      await completeAllGenerations(service, customer);
    });

    it('change nothing without --apply; then a worker completes the generation, charged once', async () => {
      const uuid = await stuckImage();
      const tried = await admin('requeue-generations', '--all');
      expect(tried.out).to.include(uuid).and.to.include('Nothing was changed');
      const [{ next_attempt_at: before }] = await service.sql(
        'SELECT next_attempt_at FROM generations WHERE uuid = $1',
        [uuid],
      );
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

  describe('list-tasks and run-tasks', () => {
    before(async () => {
      await service.sql(
        `INSERT INTO tasks (kind, key, run_at, lease, attempts, last_error, created_at)
         VALUES ('payment.event', 'evt_1', NULL, NULL, 10, 'no such customer', now()),
                ('payment.event', 'evt_2', now() + interval '1 hour', NULL, 1, 'timeout', now()),
                ('payment.event', 'evt_3', now() + interval '5 minutes', gen_random_uuid(), 1, 'timeout', now()),
                ('payout.transfer', 'waits', now() + interval '1 hour', NULL, 0, NULL, now())`,
      );
    });

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
      const entries = await service.sql(
        `SELECT action, target_id, role, reason FROM audit_entries WHERE action LIKE 'task.%' ORDER BY number`,
      );
      expect(entries).to.deep.equal([
        { action: 'task.run', target_id: 'payment.event evt_1', role: 'system', reason: 'repaired' },
        { action: 'task.run_kind', target_id: 'payment.event', role: 'system', reason: '' },
      ]);
    });
  });

  describe('suspend-account and reinstate-account', () => {
    it('require a reason, change nothing without --apply, and write the system user to the audit log', async () => {
      const owner = await service.createCustomer();
      expect((await admin('suspend-account', owner.email, '--apply')).status).to.equal(2);
      const reason = ['--reason', 'ticket 7'];
      const dry = await admin('suspend-account', owner.email, ...reason);
      expect([dry.status, dry.out]).to.satisfy(
        ([status, out]: [number, string]) => status === 0 && /would be/.test(out),
      );
      expect((await owner.createGeneration(IMAGE)).status).to.equal(201);
      const { out, err } = await admin('suspend-account', owner.email, ...reason, '--apply');
      expect(out).to.include('is suspended.');
      expect(err).to.include(`"accountUuid":"${await findAccountUuid(service, owner)}"`);
      expectError(await owner.createGeneration(IMAGE), 'account_suspended');
      expect((await admin('suspend-account', owner.email, ...reason, '--apply')).out).to.include('Nothing was changed');
      expect((await admin('reinstate-account', owner.email, ...reason, '--apply')).out).to.include('is reinstated.');
      expect((await owner.createGeneration(IMAGE)).status).to.equal(201);
      const entries = await readAudit(service, owner);
      expect(entries.map(({ action, reason, command_user: user }) => [action, reason, user])).to.deep.equal([
        ['account.suspend', 'ticket 7', userInfo().username],
        ['account.reinstate', 'ticket 7', userInfo().username],
      ]);
    });

    it('refuse to suspend a staff account', async () => {
      const staff = await service.createCustomer(null);
      const [command, env] = [['suspend-account', staff.email], { ...service.env, STAFF_EMAILS: staff.email }];
      const { status, err } = await runAdminInProcess([...command, '--reason', 'a mistake', '--apply'], env);
      expect([status, err.includes('STAFF_EMAILS')], err).to.deep.equal([1, true]);
      expect(await readAudit(service, staff)).to.deep.equal([]);
    });
  });
});
