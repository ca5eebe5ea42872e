import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import Koa from 'koa';
import pg from 'pg';
import { PAGE_SIZE } from '../../../shared/spec/limits.ts';
import { serveParent } from '../childProcess.ts';
import { captureChargeStatement, type ChargeStatement } from '../load/chargeStatement.ts';
import { type LoopClient, type LoopResult, runLoop } from '../load/loop.ts';

/**
 * The minimum that can do the same: one prepared statement, sent by database clients as pgbench would, or behind Koa
 * without middleware on a pool of connections. It validates nothing, reads no body, checks no keys or signatures, and
 * enqueues no job.
 */
const pool = new pg.Pool({ connectionString: process.env['DATABASE_URL'], max: 10 });
const connections: pg.Client[] = [];
let charge: ChargeStatement;
/** Accepted creates of the database clients, and the one that captured the statement. */
let charged = 0;

const COLUMNS = `uuid, model, prompt, params, status, credits_charged, created_at, completed_at, output_path,
                 thumbnail_path, is_watermarked, error_message`;
const READ = `SELECT ${COLUMNS} FROM generations WHERE uuid = $1`;
const LIST = `SELECT ${COLUMNS}, cancel_requested_at, metadata FROM generations
               WHERE account_id = $1 AND deleted_at IS NULL ORDER BY number DESC LIMIT ${PAGE_SIZE}`;
const INSERT = `INSERT INTO bare_events (event_id, type, object_id, payload, received_at)
                VALUES ($1, 'radar.bench', 'in_bench', $2, now())`;
const PAYLOAD = 'x'.repeat(2_000);

/** Waits for an account that another one has locked only after a first try, as the service does. */
async function chargeOne(database: pg.Client | pg.Pool, account: number): Promise<{ outcome?: string } | undefined> {
  const { name, text } = charge;
  const send = async (waits: boolean): Promise<{ outcome?: string } | undefined> =>
    (await database.query({ name, text, values: charge.valuesFor(account, waits) })).rows[0];
  return (await send(false)) ?? send(true);
}

const app = new Koa();
app.use(async (ctx) => {
  const [, what, id] = ctx.path.split('/') as [string, string, string];
  if (what === 'charge') {
    const row = await chargeOne(pool, Number(id));
    ctx.status = row?.outcome === 'accepted' ? 201 : 409;
    ctx.body = row;
  } else if (what === 'list') {
    ctx.body = (await pool.query({ name: 'list', text: LIST, values: [id] })).rows;
  } else if (what === 'read') {
    const { rows } = await pool.query({ name: 'read', text: READ, values: [id] });
    ctx.status = rows.length === 1 ? 200 : 404;
    ctx.body = rows[0] as object;
  } else {
    await pool.query({ name: 'event', text: INSERT, values: [`evt_${randomUUID()}`, PAYLOAD] });
    ctx.body = { received: true };
  }
});
const server = app.listen(0, '127.0.0.1');
await once(server, 'listening');

async function chargeNext(
  connection: pg.Client,
  accounts: number[],
  done: (error: Error | null) => void,
): Promise<void> {
  let problem: Error | null = null;
  try {
    const row = await chargeOne(connection, accounts[charged++ % accounts.length] as number);
    if (row?.outcome !== 'accepted') problem = new Error(`Not accepted: ${JSON.stringify(row)}.`);
  } catch (error) {
    problem = error as Error;
  }
  done(problem);
}

const handlers = {
  port: () => (server.address() as AddressInfo).port,
  /** Captures the statement of the service, which creates one generation. */
  capture: async () => {
    charge = await captureChargeStatement();
    charged += 1;
  },
  /** Charges these accounts in turn, one create at a time on each of several connections. */
  charge: async (clients: number, durationMs: number, accounts: number[]): Promise<LoopResult> => {
    while (connections.length < clients) {
      const connection = new pg.Client({ connectionString: process.env['DATABASE_URL'] });
      await connection.connect();
      connections.push(connection);
    }
    const toClient =
      (connection: pg.Client): LoopClient =>
      (done) =>
        void chargeNext(connection, accounts, done);
    return runLoop(connections.slice(0, clients).map(toClient), durationMs);
  },
  countCharged: () => charged,
};
export type BareKoa = typeof handlers;

serveParent(handlers);
