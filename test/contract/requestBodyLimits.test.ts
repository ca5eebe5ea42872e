import { once } from 'node:events';
import { connect } from 'node:net';
import { expect } from 'chai';
import { useBillingService } from '../harness/billingService.ts';

const SIZE = 2 * 1024 * 1024;
const FORM = 'application/x-www-form-urlencoded';
const JSON_TYPE = 'application/json';

/** Without a well-formed, recent signature a webhook is rejected before its body is read. */
const signature = () => ({ 'stripe-signature': `t=${Math.floor(Date.now() / 1_000)},v1=${'0'.repeat(64)}` });

describe('a request body over the limit', () => {
  const billing = useBillingService({ workers: 0 });
  let headers: Record<string, string>;
  before(async () => {
    const customer = await billing.createCustomer(null);
    headers = { authorization: `Bearer ${customer.key}`, accept: 'application/json, text/event-stream' };
  });

  const routes: [string, string][] = [
    ['/token', FORM],
    ['/register', JSON_TYPE],
    ['/revoke', FORM],
    ['/mcp', JSON_TYPE],
    ['/api/billing/webhooks/processor/', JSON_TYPE],
    ['/api/keys/create/', JSON_TYPE],
  ];

  for (const [path, type] of routes) {
    for (const framing of ['Content-Length', 'chunks'] as const) {
      it(`POST ${path} with ${framing} gets a 413, and the next request on the connection gets a response`, async () => {
        const isMcp = path === '/mcp' || path.startsWith('/api/keys');
        const text = await overOneConnection(billing.service.baseUrl, path, framing, {
          'content-type': type,
          ...(isMcp ? headers : {}),
          ...signature(),
        });
        expect(text.match(/HTTP\/1\.1 \d+/g)).to.deep.equal(['HTTP/1.1 413', 'HTTP/1.1 200']);
      });
    }

    it(`POST ${path} from pooled clients gets every response`, async () => {
      for (let count = 0; count < 5; count += 1) {
        const init = {
          method: 'POST',
          headers: { ...headers, ...signature(), 'content-type': type },
          body: 'x'.repeat(70_000 + SIZE),
        };
        if (path === '/token' || path === '/register' || path === '/revoke') delete (init.headers as any).authorization;
        const large = await fetch(new URL(path, billing.service.baseUrl), init);
        await large.text();
        const small = await fetch(new URL('/api/health/', billing.service.baseUrl));
        await small.text();
        expect([large.status, small.status]).to.deep.equal([413, 200]);
      }
    });
  }
});

/** Sends a large POST and a small GET over one connection. @returns both responses. */
async function overOneConnection(
  baseUrl: string,
  path: string,
  framing: 'Content-Length' | 'chunks',
  headers: Record<string, string>,
): Promise<string> {
  const { hostname, port, host } = new URL(baseUrl);
  const socket = connect(Number(port), hostname);
  let reply = '';
  socket.on('data', (chunk: Buffer) => (reply += chunk.toString()));
  const framed = framing === 'chunks' ? { 'transfer-encoding': 'chunked' } : { 'content-length': String(SIZE) };
  const lines = Object.entries({ host, ...headers, ...framed }).map(([name, value]) => `${name}: ${value}`);
  socket.write(`POST ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`);
  const body = 'x'.repeat(SIZE);
  socket.write(framing === 'chunks' ? `${SIZE.toString(16)}\r\n${body}\r\n0\r\n\r\n` : body);
  socket.write(`GET /api/health/ HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`);
  await once(socket, 'close', { signal: AbortSignal.timeout(8_000) }).catch(() => socket.destroy());
  return reply;
}
