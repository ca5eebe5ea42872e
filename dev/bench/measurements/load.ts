import type { Client } from 'pg';
import type { BareKoa } from '../baselines/bareKoa.ts';
import type { Bench } from '../bench.ts';
import type { Figures } from '../figure.ts';
import { buildCreate, buildCreates, buildKeyGet, buildReads, listSpreadAccounts } from '../httpRequests.ts';

/** Clients of the closed loop that finds the capacity. */
const CLIENTS = 128;
/** As many as the creates of a run fill. */
const WAL_FILES = 150;
/** Generations of each account: more than a page. */
const ROWS = 30;

/**
 * Measures the latencies of creates, reads and lists beside bare Koa with one statement, both at the same rate: half
 * and four fifths of the lower one of their capacities. Requests are sent at a constant rate, and latency counts from
 * when a request was to be sent: while the service stalls, requests that it delays count.
 */
export async function* measure(bench: Bench): Figures {
  const { accounts, load } = bench.options;
  const { url, client, verify } = await bench.seed('load', { hotRows: ROWS, rowsPerAccount: ROWS });
  await createWalFiles(client);
  const api = await bench.api(url);
  const bare = await bench.child<BareKoa>('baselines/bareKoa.ts', url);
  await bare.capture();
  const http = await bench.http();
  const spread = listSpreadAccounts(accounts);
  const operations: [name: string, expect: number, ours: string[], bare: string[]][] = [
    ['create', 201, buildCreates(accounts), spread.map((account) => buildCreate(account, `/charge/${account}`))],
    ['read', 200, await buildReads(client, '/api/generations'), await buildReads(client, '/read')],
    [
      'list',
      200,
      spread.map((account) => buildKeyGet(account, '/api/generations/')),
      spread.map((account) => buildKeyGet(account, `/list/${account}`)),
    ],
  ];
  const { rounds, capacityMs, loadMs } = load;
  for (const [name, expect, ours, theirs] of operations) {
    const [own, other] = [name, `bare ${name}`];
    await http.prepare({ name: own, port: api.port, expect, requests: ours });
    await http.prepare({ name: other, port: await bare.port(), expect, requests: theirs });
    const capacity = yield {
      name: `${name}, ${CLIENTS} clients : bare Koa`,
      ours: () => http.run(own, CLIENTS, capacityMs),
      bare: () => http.run(other, CLIENTS, capacityMs),
      rounds,
    };
    for (const share of [0.5, 0.8]) {
      const rate = share * Math.min(capacity.ours['per second']!, capacity.bare['per second']!);
      yield {
        name: `${name} at ${100 * share} %, p99 : bare Koa at the same rate`,
        ours: () => http.runAtRate(own, rate, loadMs),
        bare: () => http.runAtRate(other, rate, loadMs),
        by: 'p99 ms',
        target: share === 0.8 ? [1, 0.5] : undefined,
        rounds,
        isWarm: true,
      };
    }
  }
  await verify((await http.countCreated()) + (await bare.countCharged()));
}

/**
 * Creates WAL files, which the checkpoint then makes available for reuse, as in a database that has been in operation.
 * To create one takes up to 50 ms, during which nothing commits, and both sides would do so after every 16 MB.
 */
async function createWalFiles(client: Client): Promise<void> {
  for (let file = 0; file < WAL_FILES; file += 1) {
    await client.query(`SELECT pg_logical_emit_message(false, 'bench', 'next file')`);
    await client.query('SELECT pg_switch_wal()');
  }
  await client.query('CHECKPOINT');
}
