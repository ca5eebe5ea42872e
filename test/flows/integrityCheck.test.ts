import { expect } from 'chai';
import pg from 'pg';
import { runBundled } from '../harness/builtPrograms.ts';
import {
  checkInvariants,
  findViolations,
  readAccountHistory,
  INVARIANTS,
} from '../../shared/domain/integrity/index.ts';
import { createDatabase } from '../harness/databases.ts';
import { eventually } from '../harness/testService.ts';
import { CORRUPTIONS } from '../harness/integrityViolations.ts';
import { AFFILIATE, CUSTOMER, NOW, writeLedgerFixture } from '../harness/ledgerFixture.ts';

/** Drops the constraints, unique indexes and triggers that would reject a corruption or add to it. */
const WITHOUT_GUARDS = `
  DO $$
    DECLARE guard record;
    BEGIN
      FOR guard IN SELECT conrelid::regclass AS relation, conname FROM pg_constraint
                    WHERE connamespace = 'public'::regnamespace AND contype IN ('c', 'f', 'p', 'u') ORDER BY contype = 'p' LOOP
        EXECUTE format('ALTER TABLE %s DROP CONSTRAINT IF EXISTS %I CASCADE', guard.relation, guard.conname);
      END LOOP;
      FOR guard IN SELECT indexrelid::regclass AS relation FROM pg_index WHERE indisunique AND indrelid::regclass::text = ANY (
                     SELECT relname::text FROM pg_class WHERE relnamespace = 'public'::regnamespace) LOOP
        EXECUTE format('DROP INDEX IF EXISTS %s', guard.relation);
      END LOOP;
      FOR guard IN SELECT relname AS relation FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' LOOP
        EXECUTE format('ALTER TABLE %I DISABLE TRIGGER USER', guard.relation);
      END LOOP;
    END
  $$`;

/** Runs the built program, as a deployment does, at the time of the rows. */
const runCheck = (args: string[], env: Record<string, string> = {}) =>
  runBundled('check', args, {
    env: { NODE_ENV: 'test', ...env },
    clockOffsetMs: Math.max(0, NOW.getTime() - Date.now()),
  });

describe('the invariants', () => {
  let databaseUrl: string;
  let client: pg.Client;
  before(async () => {
    databaseUrl = await createDatabase();
    client = new pg.Client(databaseUrl);
    await client.connect();
    await writeLedgerFixture(client);
  });
  after(() => client.end());

  const env = () => ({
    DATABASE_URL: databaseUrl,
  });

  it('all hold in the ledger fixture', async () => {
    expect(await checkInvariants(client, { isDrained: true, now: NOW })).to.deep.equal([]);
  });

  it('each have a unique name and a statement', () => {
    for (const { name, statement } of INVARIANTS) {
      expect(name).to.match(/^[a-z]+(-[a-z]+)+$/);
      expect(statement).to.match(/^[A-Z].*\.$/);
    }
    expect(new Set(INVARIANTS.map(({ name }) => name)).size).to.equal(INVARIANTS.length);
  });

  it('each have at least one corruption in this test', () => {
    expect(Object.keys(CORRUPTIONS)).to.have.members(INVARIANTS.map(({ name }) => name));
  });

  it('are checked in one read-only snapshot', async () => {
    const seen: string[] = [];
    const watched: Pick<pg.Client, 'query'> = {
      query: (text: string, values?: unknown[]) => (seen.push(text), client.query(text, values)),
    } as never;
    await checkInvariants(watched, { isDrained: true, now: NOW });
    expect(seen[0]).to.equal('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
    expect(seen.at(-1)).to.equal('ROLLBACK');
    expect(seen.filter((text) => /^(BEGIN|COMMIT|ROLLBACK)/.test(text))).to.have.length(2);
  });

  it('are reported with the history of the account, in order of time', async () => {
    const lines = await readAccountHistory(client, String(CUSTOMER));
    const moments = lines.slice(0, -1).map((line) => line.split('  ')[0] as string);
    expect(moments).to.deep.equal(moments.toSorted());
    const text = lines.join('\n');
    for (const part of [
      'created',
      'ledger 1: grant 400',
      'failed: The model refused.',
      'top-up',
      'subscription 1 activated',
      'event evt_1',
      'commission 1',
    ]) {
      expect(text).to.include(part);
    }
    expect(text).to.not.include('@example.com').and.to.not.include('a fox');
    expect(lines.at(-1)).to.match(/^now {2}.*balance \d+/);
    expect((await readAccountHistory(client, String(AFFILIATE))).join('\n')).to.include('payout');
  });

  describe('npm run check', () => {
    it('prints its help and the list of invariants without any configuration', async () => {
      const [help, list] = await Promise.all([runCheck(['--help']), runCheck(['--list'])]);
      expect([help.status, list.status]).to.deep.equal([0, 0]);
      expect(help.out).to.include('--drained').and.to.include('can violate them briefly');
      for (const status of [0, 1, 2, 69, 78]) expect(help.out).to.match(new RegExp(`^ +${status}  `, 'm'));
      for (const { name, statement } of INVARIANTS) expect(list.out).to.include(name).and.to.include(statement);
    });

    it('exits with 0 and prints one line per invariant when all hold', async () => {
      const [usual, drained] = await Promise.all([runCheck([], env()), runCheck(['--drained'], env())]);
      expect([usual.status, usual.err, drained.status]).to.deep.equal([0, '', 0]);
      const always = INVARIANTS.filter(({ checkedWhen }) => checkedWhen === 'always');
      expect(usual.out).to.include(`All ${always.length} invariants hold. ${INVARIANTS.length - always.length} more`);
      for (const { name } of always) expect(usual.out).to.match(new RegExp(`^${name} +ok +\\d+$`, 'm'));
      expect(drained.out).to.include(`All ${INVARIANTS.length} invariants hold.`);
    });

    it('needs only DATABASE_URL, in production too, and prints the database without its password', async () => {
      const { hostname, port, pathname } = new URL(databaseUrl);
      const withPassword = databaseUrl.replace(/:\/\/([^:@/]+)(:[^@/]*)?@/, '://$1:let-me-in@');
      const only = { NODE_ENV: 'production', DATABASE_URL: withPassword };
      const broken = { REDIS_URL: 'none', STRIPE_SECRET_KEY: 'none', UPSTREAMS: 'none', METRICS_PORT: 'none' };
      const [usual, json] = await Promise.all([runCheck([], only), runCheck(['--json'], { ...only, ...broken })]);
      // The clock may be past the end of the fixture, so both exit codes are accepted here.
      for (const { status, err } of [usual, json]) expect([0, 1], err).to.include(status);
      expect(usual.out).to.include(`\nDatabase ${pathname.slice(1)} at ${hostname}:${port}, 2`);
      expect(JSON.parse(json.out).database).to.deep.equal({
        host: hostname,
        port: Number(port),
        name: pathname.slice(1),
      });
      expect(usual.out + json.out).to.not.include('let-me-in');
    });

    it('exits with 1 and prints the violations with the histories of their accounts', async () => {
      await client.query('UPDATE accounts SET period_rollover = 7 WHERE id = 1');
      await client.query(
        `INSERT INTO tasks (kind, key, run_at, created_at) VALUES ('payment.event', 'evt_1', '2037-03-15', '2037-03-15')`,
      );
      const [usual, json] = await Promise.all([runCheck([], env()), runCheck(['--drained', '--json'], env())]);
      await client.query('UPDATE accounts SET period_rollover = 1100 WHERE id = 1');
      await client.query(`DELETE FROM tasks WHERE key = 'evt_1'`);
      expect([usual.status, json.status]).to.deep.equal([1, 1]);
      expect(usual.out).to.match(/^accounts-are-in-their-latest-period +VIOLATED \(1\) +\d+$/m);
      expect(usual.out)
        .to.include('account 1, month 11:')
        .and.to.include('\nAccount 1\n')
        .and.to.include('ledger 1: grant 400');
      expect(usual.out).to.not.include('due-tasks-are-run');
      const { holds, is_drained: isDrained, invariants, histories } = JSON.parse(json.out);
      expect([holds, isDrained, invariants.length]).to.deep.equal([false, true, INVARIANTS.length]);
      const broken = invariants.filter((one: { holds: boolean }) => !one.holds);
      expect(broken.map((one: { name: string }) => one.name)).to.deep.equal([
        'accounts-are-in-their-latest-period',
        'due-tasks-are-run',
      ]);
      expect(broken[1].violations[0]).to.include({ account_id: null, subject: 'payment.event evt_1' });
      expect(histories.map((one: { account_id: string }) => one.account_id)).to.deep.equal(['1']);
    });

    it('exits with 2, 69 or 78 when the database cannot be checked', async () => {
      const [misused, unset, unreachable, empty] = await Promise.all([
        runCheck(['--all'], env()),
        runCheck([], { DATA_DIR: '/nonexistent' }),
        runCheck([], { ...env(), DATABASE_URL: 'postgres://app@127.0.0.1:1/genmeter' }),
        createDatabase({ empty: true }).then((DATABASE_URL) => runCheck([], { ...env(), DATABASE_URL })),
      ]);
      expect([misused.status, unset.status, unreachable.status, empty.status]).to.deep.equal([2, 78, 69, 69]);
      expect(misused.err).to.equal("Unknown option '--all'. See: npm run check -- --help\n");
      expect(unset.err).to.include('DATABASE_URL is not set');
      expect(unreachable.err).to.equal('The database genmeter at 127.0.0.1:1 is unreachable (ECONNREFUSED).\n');
      expect(empty.err).to.match(/^The database \S+ at \S+ is not migrated to this version: .*\.\n$/);
      expect(misused.out + unreachable.out + empty.out).to.equal('');
    });

    it('reports a statement that the database canceled, with status 69', async () => {
      await client.query('BEGIN');
      await client.query('LOCK TABLE generations');
      const checking = runCheck(['--drained'], env());
      const other = new pg.Client(databaseUrl);
      await other.connect();
      try {
        await eventually('the check waits for the table', async () => {
          const { rows } = await other.query(
            `SELECT pg_cancel_backend(pid) FROM pg_stat_activity
              WHERE application_name = 'genmeter check' AND wait_event_type = 'Lock' AND datname = current_database()`,
          );
          return rows.length > 0;
        });
      } finally {
        await client.query('ROLLBACK');
        await other.end();
      }
      const { status, err } = await checking;
      expect(status).to.equal(69);
      expect(err).to.match(/^The database \S+ at \S+ canceled a statement \(canceling statement .*statement_timeout/);
    });

    it('is not limited by the statement timeout of the role or the database', async () => {
      const limited = new URL(databaseUrl);
      limited.searchParams.set('options', '-c statement_timeout=300ms');
      await client.query('BEGIN');
      await client.query('LOCK TABLE generations');
      const checking = runCheck([], { ...env(), DATABASE_URL: limited.href });
      const other = new pg.Client(databaseUrl);
      await other.connect();
      try {
        await Promise.race([
          checking,
          eventually('the check waits for longer than that', async () => {
            const { rows } = await other.query(
              `SELECT 1 FROM pg_stat_activity WHERE application_name = 'genmeter check' AND wait_event_type = 'Lock'
                  AND datname = current_database() AND clock_timestamp() - query_start > interval '500 milliseconds'`,
            );
            return rows.length > 0;
          }),
        ]);
      } finally {
        await client.query('ROLLBACK');
        await other.end();
      }
      const { status, err } = await checking;
      expect([status, err]).to.deep.equal([0, '']);
    });
  });

  describe('each report the account when violated:', () => {
    before(() => client.query(WITHOUT_GUARDS));

    for (const [name, corruptions] of Object.entries(CORRUPTIONS)) {
      it(name, async () => {
        const invariant = INVARIANTS.find((one) => one.name === name);
        if (invariant === undefined) throw new Error(`Invariant ${name} does not exist.`);
        for (const { accountId, sql } of corruptions) {
          await client.query('BEGIN');
          try {
            await client.query(sql);
            const found = await findViolations(client, invariant, NOW);
            expect(
              found.map((violation) => violation.accountId),
              sql,
            ).to.include(accountId === null ? null : String(accountId));
            for (const { detail, subject } of found) {
              expect([typeof detail, typeof subject], sql).to.deep.equal(['string', 'string']);
              // Traces of a null value in a format string.
              expect(`${subject}: ${detail}`, sql).to.not.match(/ {2}| [,;:)]|[( ]$|\(\)/);
            }
          } finally {
            await client.query('ROLLBACK');
          }
          expect(await findViolations(client, invariant, NOW), `after ${sql}`).to.deep.equal([]);
        }
      });
    }
  });
});
