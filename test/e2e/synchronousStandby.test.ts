import { randomUUID } from 'node:crypto';
import { chmodSync, cpSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { expect } from 'chai';
import pg from 'pg';
import { type RunningServer, startPostgres } from '../../dev/local/servers/postgres.ts';
import { type ApiResponse, IMAGE, type TestCustomer } from '../harness/apiClient.ts';
import { requireTestEnv, runRelease } from '../harness/databases.ts';
import { eventually, startTestService, type TestService } from '../harness/testService.ts';

const STANDBY = 'genmeter_standby';
const STOPPED_MS = 7_000;

/** A create request and its response. `prompt` identifies the generation that it may have created. */
interface Attempt {
  prompt: string;
  response: ApiResponse;
}

describe('while a synchronous standby does not respond', () => {
  let primary: RunningServer;
  let standby: RunningServer;
  let service: TestService;
  const customers: TestCustomer[] = [];

  before(async () => {
    [primary, standby] = await startReplicatedPostgres(join(requireTestEnv('TEST_FOLDER'), 'replicated'));
    expect((await runRelease(primary.url)).status).to.equal(0);
    service = await startTestService({ databaseUrl: primary.url, env: { DATABASE_TIMEOUT_MS: '1500' } });
    service.upstream.outcome = 'wait';
    while (customers.length < 8) customers.push(await service.createCustomer('studio'));
    await service.sql(`ALTER SYSTEM SET synchronous_standby_names = '${STANDBY}'`);
    await service.sql('SELECT pg_reload_conf()');
    await eventually('the standby is synchronous', async () => {
      const [row] = await service.sql('SELECT sync_state FROM pg_stat_replication');
      return row?.sync_state === 'sync';
    });
  });
  after(async () => {
    await service.stop();
    await standby.stop();
    await primary.stop();
  });

  const countWaitingCommits = async (): Promise<number> =>
    (await service.sql(`SELECT 1 FROM pg_stat_activity WHERE wait_event = 'SyncRep'`)).length;

  it('no create that reports that nothing was charged is charged, and an Idempotency-Key returns the outcome', async () => {
    const attempts: Attempt[] = [];
    const keyed = new Map<string, TestCustomer>();
    const create = async (customer: TestCustomer, key?: string): Promise<ApiResponse> => {
      const prompt = key ?? randomUUID();
      const headers: Record<string, string> = key === undefined ? {} : { 'idempotency-key': key };
      const body = { ...IMAGE, prompt };
      const response = await customer.request('POST', '/api/generations/create/', { body, headers });
      attempts.push({ prompt, response });
      return response;
    };
    const until = performance.now() + STOPPED_MS;
    const continueLoad = async (customer: TestCustomer, index: number) => {
      while (performance.now() < until) {
        if (index % 2 === 0) {
          await create(customer);
          continue;
        }
        // A client that repeats a request under its key, as the response says.
        const key = randomUUID();
        keyed.set(key, customer);
        while ((await create(customer, key)).status === 503 && performance.now() < until) await setTimeout(100);
      }
    };

    const receiver = await findWalReceiver(standby.url);
    process.kill(receiver, 'SIGSTOP');
    try {
      await Promise.all(customers.map(continueLoad));
      expect(await countWaitingCommits()).to.be.above(0);
    } finally {
      process.kill(receiver, 'SIGCONT');
    }
    await eventually('no commit waits', async () => (await countWaitingCommits()) === 0);

    const charged = new Set(
      (
        await service.sql(
          `SELECT g.prompt FROM generations g JOIN ledger_entries e ON e.generation_uuid = g.uuid WHERE e.entry_type = 'burn'`,
        )
      ).map(({ prompt }) => prompt as string),
    );
    const unknown = attempts.filter(({ response }) => / unknown/.test(response.body.detail ?? ''));
    expect(unknown.filter(({ prompt }) => charged.has(prompt))).not.to.have.length(0);
    const notCharged = attempts.filter(
      ({ response }) => response.status !== 201 && !/unknown|may have/.test(response.body.detail),
    );
    expect(notCharged.filter(({ prompt }) => charged.has(prompt))).to.deep.equal([]);
    for (const [key, customer] of keyed) {
      const repeated = await create(customer, key);
      expect(repeated.status, repeated.body.detail).to.be.oneOf([201, 409]);
      if (repeated.status === 409) expect(charged.has(key)).to.equal(false);
      if (charged.has(key)) expect(repeated.headers.get('idempotent-replayed')).to.equal('true');
    }
  }).timeout(120_000);
});

/** Starts a primary, and a streaming standby from a copy of its files. */
async function startReplicatedPostgres(folder: string): Promise<[RunningServer, RunningServer]> {
  const settings = { fsync: 'off', full_page_writes: 'off' };
  const [primaryDir, standbyDir] = [join(folder, 'primary'), join(folder, 'standby')];
  const first = await startPostgres({ dataDir: primaryDir, settings });
  await first.stop();
  cpSync(primaryDir, standbyDir, { recursive: true });
  // Not every version of Node copies the permissions of a folder, which Postgres checks.
  chmodSync(join(standbyDir, 'cluster'), 0o700);
  const primary = await startPostgres({ dataDir: primaryDir, settings });
  writeFileSync(join(standbyDir, 'cluster/standby.signal'), '');
  const standby = await startPostgres({
    dataDir: standbyDir,
    settings: {
      ...settings,
      primary_conninfo: `host=127.0.0.1 port=${primary.port} user=app application_name=${STANDBY}`,
    },
  });
  return [primary, standby];
}

async function findWalReceiver(standbyUrl: string): Promise<number> {
  const client = new pg.Client(standbyUrl);
  await client.connect();
  const { rows } = await client.query<{ pid: number }>('SELECT pid FROM pg_stat_wal_receiver');
  await client.end();
  return (rows[0] as { pid: number }).pid;
}
