import { createHmac, randomUUID } from 'node:crypto';
import { serveParent } from '../childProcess.ts';
import { type LoopClient, runLoop } from './closedLoop.ts';
import { type HttpConnection, openHttpConnection } from './connection.ts';

/** Events as Stripe sends them: each one is new, and signed when it is sent. */
const SECRET = process.env['STRIPE_WEBHOOK_SECRET'] ?? 'whsec_bench';

/** About as long as the event of an invoice. */
const INVOICE = JSON.stringify({
  id: 'in_bench',
  object: 'invoice',
  lines: Array.from({ length: 12 }, (_, line) => ({
    id: `il_bench${line}`,
    object: 'line_item',
    amount: 34_800,
    currency: 'usd',
    description: '1 x Pro (at $348.00 / year)',
    metadata: {},
  })),
});

const connections = new Map<number, HttpConnection[]>();

async function getConnections(port: number, count: number): Promise<HttpConnection[]> {
  const open = connections.get(port) ?? [];
  connections.set(port, open);
  while (open.length < count) open.push(await openHttpConnection(port));
  return open.slice(0, count);
}

function buildSignedRequest(path: string): Buffer {
  const time = Math.floor(Date.now() / 1_000);
  const id = `evt_${randomUUID()}`;
  const body = `{"id":"${id}","object":"event","created":${time},"type":"radar.bench","data":{"object":${INVOICE}}}`;
  const signature = createHmac('sha256', SECRET).update(`${time}.${body}`).digest('hex');
  const lines = [
    `POST ${path} HTTP/1.1`,
    'Host: 127.0.0.1',
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${body.length}`,
    `Stripe-Signature: t=${time},v1=${signature}`,
  ];
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n${body}`, 'latin1');
}

function createClient(connection: HttpConnection, path: string): LoopClient {
  return (done) =>
    connection.exchange(buildSignedRequest(path), (error, status, body) => {
      done(error ?? (status === 200 ? null : new Error(`${status}: ${body.toString().slice(0, 300)}`)));
    });
}

serveParent({
  run: async (port: number, path: string, clients: number, durationMs: number) => {
    const open = await getConnections(port, clients);
    return runLoop(
      open.map((connection) => createClient(connection, path)),
      durationMs,
    );
  },
});
