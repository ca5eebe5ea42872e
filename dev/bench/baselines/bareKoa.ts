import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import Koa from 'koa';
import pg from 'pg';
import { PAGE_SIZE } from '../../../shared/spec/limits.ts';
import { serveParent } from '../childProcess.ts';
import { captureChargeStatement } from '../load/chargeStatement.ts';

/**
 * The minimum a web server can do for a create, a read or a list: Koa without middleware, and one prepared statement on a pool
 * of connections. It validates nothing, parses no body and checks no keys.
 */
const charge = await captureChargeStatement();
const pool = new pg.Pool({ connectionString: process.env['DATABASE_URL'], max: 10 });

const READ = `SELECT uuid, model, prompt, params, status, credits_charged, created_at, completed_at, output_path,
                     thumbnail_path, is_watermarked, error_message
                FROM generations WHERE uuid = $1`;

const LIST = `SELECT uuid, model, prompt, params, status, credits_charged, created_at, completed_at, output_path,
                     thumbnail_path, is_watermarked, error_message, cancel_requested_at, metadata
                FROM generations
               WHERE account_id = $1 AND deleted_at IS NULL
               ORDER BY number DESC LIMIT ${PAGE_SIZE}`;

const app = new Koa();
app.use(async (ctx) => {
  const [, what, id] = ctx.path.split('/') as [string, string, string];
  if (what === 'charge') {
    const send = (waits: boolean) =>
      pool.query<{ uuid: string; outcome: string }>({
        name: charge.name,
        text: charge.text,
        values: charge.valuesFor(Number(id), waits),
      });
    let { rows } = await send(false);
    // Another request has the account. The service waits then, too.
    if (rows.length === 0) ({ rows } = await send(true));
    ctx.status = rows[0]?.outcome === 'accepted' ? 201 : 409;
    ctx.body = rows[0];
    return;
  }
  if (what === 'list') {
    const { rows } = await pool.query({ name: 'list', text: LIST, values: [id] });
    ctx.body = rows;
    return;
  }
  const { rows } = await pool.query({ name: 'read', text: READ, values: [id] });
  ctx.status = rows.length === 1 ? 200 : 404;
  ctx.body = rows[0] as object;
});
const server = app.listen(0, '127.0.0.1');
await once(server, 'listening');

serveParent({ port: () => (server.address() as AddressInfo).port });
