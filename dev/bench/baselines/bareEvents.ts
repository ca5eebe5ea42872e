import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import Koa from 'koa';
import pg from 'pg';
import { serveParent } from '../childProcess.ts';

/**
 * The minimum a web server can do for an event: Koa without middleware, and one row by a prepared statement on a pool
 * of connections. It reads no body, checks no signature and enqueues no job.
 */
const pool = new pg.Pool({ connectionString: process.env['DATABASE_URL'], max: 10 });
const PAYLOAD = 'x'.repeat(2_000);

const INSERT = `INSERT INTO bare_events (event_id, type, object_id, payload, received_at, next_attempt_at)
                VALUES ($1, 'radar.bench', 'in_bench', $2, now(), now() + interval '5 seconds')`;

const app = new Koa();
app.use(async (ctx) => {
  await pool.query({ name: 'event', text: INSERT, values: [`evt_${randomUUID()}`, PAYLOAD] });
  ctx.body = { received: true };
});
const server = app.listen(0, '127.0.0.1');
await once(server, 'listening');

serveParent({ port: () => (server.address() as AddressInfo).port });
