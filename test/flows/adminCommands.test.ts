import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { cpSync, symlinkSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect } from 'chai';
import { BUNDLE } from '../harness/bundle.ts';
import { setAllModelsOnline } from '../harness/seeds.ts';
import type { TestCustomer } from '../harness/apiClient.ts';
import { createDatabase, requireTestEnv } from '../harness/databases.ts';
import { eventually, type TestService, startTestService } from '../harness/testService.ts';

interface Ended {
  status: number | null;
  out: string;
  err: string;
}

/** Runs a command from the build, as in a deployment. */
function runAdmin(args: string[], env: Record<string, string> = {}): Promise<Ended> {
  return run(process.execPath, [`${BUNDLE}/admin.js`, ...args], { NODE_ENV: 'test', ...env });
}

async function run(program: string, args: string[], env: Record<string, string> = {}, cwd = '.'): Promise<Ended> {
  const child = spawn(program, args, { env: { PATH: process.env['PATH'], ...env }, cwd });
  const ended: Ended = { status: null, out: '', err: '' };
  child.stdout.on('data', (chunk: Buffer) => (ended.out += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (ended.err += chunk.toString()));
  [ended.status] = (await once(child, 'close')) as [number | null];
  return ended;
}

const LONG_AGO = `interval '5 minutes'`;

describe('npm run admin', () => {
  let service: TestService;
  let customer: TestCustomer;
  before(async () => {
    service = await startTestService({ workers: 0 });
    await setAllModelsOnline(service);
    customer = await service.createCustomer('pro');
  });
  after(() => service.stop());

  const admin = (...args: string[]) => runAdmin(args, service.env);
  const grant = (request: string, ...more: string[]) =>
    admin('grant-credits', customer.email, '250', '--request', request, '--note', 'the outage of May', ...more);
  /** Creates a generation that has waited for a long time without being dispatched. */
  const stuckImage = async () => {
    const { uuid } = await customer.createImage();
    await service.sql(
      `UPDATE generations SET created_at = created_at - ${LONG_AGO}, next_attempt_at = now() + interval '1 hour' WHERE uuid = $1`,
      [uuid],
    );
    return uuid as string;
  };

  it('prints help for itself and each command without any configuration', async () => {
    const { status, out } = await runAdmin(['--help']);
    expect(status).to.equal(0);
    const names = [...out.matchAll(/^ {2}([a-z-]+) {2}/gm)].map(([, name]) => name as string);
    expect(names).to.deep.equal([
      'find-account',
      'grant-credits',
      'list-stuck-generations',
      'requeue-generations',
      'revoke-key',
      'revoke-access',
      'remove-identity',
      'export-account',
      'erase-account',
    ]);
    const explained = await Promise.all(names.map((name) => runAdmin([name, '--help'])));
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
    expect((await runAdmin(['list-stuck-generations'], { ...env, ...broken })).status).to.equal(0);
    const { status, err } = await runAdmin(['list-stuck-generations'], { DATABASE_URL });
    expect([status, err]).to.deep.equal([
      78,
      'REDIS_URL is not set: it must be an address such as redis://host:6379.\n',
    ]);
  });

  it('exits with 69 and one sentence when the database is unavailable', async () => {
    const empty = await createDatabase({ empty: true });
    const missing = empty.replace(/\/[^/]*$/, '/no_such_database');
    const [away, unmigrated, refused] = await Promise.all(
      ['postgres://app@127.0.0.1:1/genmeter', empty, missing].map((DATABASE_URL) =>
        runAdmin(['grant-credits', 'a@example.com', '1', '--request', 'a'], { ...service.env, DATABASE_URL }),
      ),
    );
    expect([away?.status, unmigrated?.status, refused?.status]).to.deep.equal([69, 69, 69]);
    expect(away?.err).to.match(/^The database genmeter at 127\.0\.0\.1:1 is unreachable \(ECONNREFUSED\)\.\n$/m);
    expect(unmigrated?.err).to.match(/^The database \S+ at \S+ is not migrated to this version: .*\.\n$/m);
    expect(refused?.err).to.match(/^The database no_such_database at \S+ rejected the connection: .*\.\n$/m);
    for (const ended of [away, unmigrated, refused]) expect(ended?.out).to.not.include('Nothing was changed');
  });

  it('runs from the sources without a build, as check does', async () => {
    const clone = join(requireTestEnv('TEST_FOLDER'), 'clone');
    for (const part of ['package.json', 'shared', 'worker']) cpSync(part, join(clone, part), { recursive: true });
    symlinkSync(resolve('node_modules'), join(clone, 'node_modules'), 'dir');
    const scripts = [
      ['admin', 'find-account', customer.email],
      ['check', '--json'],
    ] as const;
    for (const [script, ...args] of scripts) {
      const env = { ...service.env, HOME: clone };
      const { status, out, err } = await run('npm', ['run', '--silent', script, '--', ...args], env, clone);
      expect([status, err], out).to.deep.equal([0, '']);
      if (script === 'check') expect(JSON.parse(out).holds).to.equal(true);
      else expect(out).to.include(customer.email);
    }
  });

  describe('find-account', () => {
    it('finds an account by e-mail address and number, with credits, keys and ledger', async () => {
      const [row] = await service.sql('SELECT id, uuid FROM accounts WHERE email = $1', [customer.email]);
      const names = [customer.email.toUpperCase(), String(row.id)];
      for (const { status, out } of await Promise.all(names.map((name) => admin('find-account', name)))) {
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

      const ended = await Promise.all([1, 2, 3, 4].map(() => grant('T-1', '--apply')));
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

  describe('list-stuck-generations and requeue-generations', () => {
    it('list generations without progress, and skip those that are new, leased, or recently polled', async () => {
      const [stuck, fresh, held, looked] = [
        await stuckImage(),
        (await customer.createImage()).uuid,
        await stuckImage(),
        await stuckImage(),
      ];
      await service.sql(`UPDATE generations SET leased_until = now() + ${LONG_AGO} WHERE uuid = $1`, [held]);
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
      const [{ next_attempt_at: before }] = await service.sql(
        'SELECT next_attempt_at FROM generations WHERE uuid = $1',
        [uuid],
      );
      expect(before.getTime()).to.be.above(Date.now());
      const { status, out } = await admin('requeue-generations', '--all', '--apply');
      expect(status).to.equal(0);
      expect(out).to.include(`${uuid} requeued.`);
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
});
