import type { BareKoa } from '../baselines/bareKoa.ts';
import type { Bench } from '../bench.ts';
import type { Figures } from '../figure.ts';
import { buildReads } from '../httpRequests.ts';

/** Measures reads of succeeded generations by API key, against bare Koa with one prepared select by primary key. */
export async function* measure(bench: Bench): Figures {
  const { url, client } = await bench.seed('read', { hotRows: 10, rowsPerAccount: 10 });
  const api = await bench.api(url);
  const koa = await bench.child<BareKoa>('baselines/bareKoa.ts', url);
  const http = await bench.http();
  await http.prepare({ name: 'ours', port: api.port, requests: await buildReads(client, '/api/generations') });
  await http.prepare({ name: 'bare', port: await koa.port(), requests: await buildReads(client, '/read') });
  const run = (name: string) => http.run(name, 32, bench.options.roundMs);
  yield {
    name: 'read by key, 32 clients : bare Koa and one select',
    ours: () => bench.timed({ api, client: http }, () => run('ours')),
    bare: () => bench.timed({ koa, client: http }, () => run('bare')),
    target: [1.2, 1.6],
  };
}
