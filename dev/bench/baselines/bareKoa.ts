import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import Koa from 'koa';
import pg from 'pg';
import { serveParent } from '../childProcess.ts';
import { captureChargeStatement } from '../load/chargeStatement.ts';

/**
 * The minimum a web server can do for a create or a read: Koa without middleware, and one prepared statement on a pool
 * of connections. It validates nothing, parses no body and checks no keys.
 */
const charge = await captureChargeStatement();
const pool = new pg.Pool({ connectionString: process.env['DATABASE_URL'], max: 10 });

const READ = `SELECT uuid, model, prompt, params, status, credits_charged, created_at, completed_at, output_path,
                     thumbnail_path, is_watermarked, error_message
                FROM generations WHERE uuid = $1`;

const app = new Koa();
app.use(async (ctx) => {
  const [, what, id] = ctx.path.split('/') as [string, string, string];
  if (what === 'charge') {
    const { rows } = await pool.query<{ uuid: string; outcome: string }>({
      name: charge.name,
      text: charge.text,
      values: charge.valuesFor(Number(id)),
    });
    ctx.status = rows[0]?.outcome === 'accepted' ? 201 : 409;
    ctx.body = rows[0];
    return;
  }
  const { rows } = await pool.query({ name: 'read', text: READ, values: [id] });
  ctx.status = rows.length === 1 ? 200 : 404;
  ctx.body = rows[0] as object;
});
const server = app.listen(0, '127.0.0.1');
await once(server, 'listening');

serveParent({ port: () => (server.address() as AddressInfo).port });
