import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Program } from '../../dev/local/environment/program.ts';
import type { TestCustomer } from '../harness/apiClient.ts';
import { BUILD } from '../harness/builtPrograms.ts';
import { requireTestEnv } from '../harness/databases.ts';
import { eventually, startTestService, type TestService } from '../harness/testService.ts';

const WARMUP_GENERATIONS = 60;
const GENERATIONS = 200;
const CLIENTS = 4;
/** Hidden classes that one place of a program may create meanwhile. */
const CLASSES_PER_PLACE_MAX = GENERATIONS / 2;
/** Options that Node adds to those of each socket. On a busy machine there are more connections than the bound. */
const SOCKET_OPTIONS = new Set(['allowHalfOpen', 'emitClose', 'autoDestroy', 'decodeStrings']);
/** Code of undici that creates one for each request on Node 20. */
const UNDICI = /\burl\.search\b/;
/** Fewer events are not the log of a whole start. */
const EVENTS_MIN = 1_000;

/**
 * Lists the places of a program that have created more hidden classes than they may since `sinceMs`, each with its code.
 * @param log events of hidden classes, as V8 writes them.
 */
function findPlaces(log: string, sinceMs: number, program: string): string[] {
  const counts = new Map<string, number>();
  const events = log.split('\n').filter((line) => line.startsWith('map,'));
  expect(events.length, 'events in the log').to.be.greaterThan(EVENTS_MIN);
  expect(
    events.filter((event) => !(Number(event.split(',')[2]) > 0)),
    'events without a time',
  ).to.deep.equal([]);
  for (const event of events) {
    const [, kind, microseconds, , , , row, column, , property = ''] = event.split(',');
    // A cached one is not new. Symbols are the names of Node's own objects.
    const isOfNode = property.startsWith('symbol(') || SOCKET_OPTIONS.has(property);
    if (Number(microseconds) / 1_000 <= sinceMs || kind === 'NormalizeCached' || isOfNode) continue;
    const place = `${row}:${column}`;
    counts.set(place, (counts.get(place) ?? 0) + 1);
  }
  const code = readFileSync(join(BUILD, `bundles/${program}.js`), 'latin1').split('\n');
  return [...counts]
    .filter(([, count]) => count > CLASSES_PER_PLACE_MAX)
    .map(([place, count]) => {
      const [row, column] = place.split(':').map(Number) as [number, number];
      const excerpt = code[row - 1]?.slice(Math.max(0, column - 60), column + 60) ?? 'a built-in function';
      return `${program} ${place}, ${count} times (or the same line and column of a script of Node): ${excerpt}`;
    })
    .filter((place) => !UNDICI.test(place));
}

describe('the built programs', function () {
  this.timeout(300_000);
  let service: TestService;
  let customer: TestCustomer;
  const programs: { name: 'api' | 'worker'; program: Program; logfile: string; startedAt: number }[] = [];

  /** Starts a program that logs its hidden classes. */
  async function start(
    name: 'api' | 'worker',
    startProcess: (flags: readonly string[]) => Promise<Program>,
  ): Promise<void> {
    const logfile = join(requireTestEnv('TEST_FOLDER'), `hidden-classes-${name}.log`);
    const startedAt = Date.now();
    const flags = ['--log-maps', '--no-log-maps-details', `--logfile=${logfile}`, '--no-logfile-per-isolate'];
    programs.push({ name, program: await startProcess(flags), logfile, startedAt });
  }

  before(async () => {
    service = await startTestService({ apis: 0, workers: 0, env: { SWEEP_INTERVAL_MS: '5000' } });
    await start('api', (flags) => service.startApi({}, 0, flags));
    await start('worker', (flags) => service.startWorker({}, 0, flags));
    customer = await service.createCustomer('studio');
    await service.sql('UPDATE accounts SET parallel_limit = 10000');
  });
  after(() => service.end());

  async function runGenerations(count: number): Promise<void> {
    let left = count;
    const runClient = async (): Promise<void> => {
      while (left > 0) {
        left -= 1;
        const { uuid } = await customer.createImage();
        for (const path of [`/api/generations/${uuid}/`, '/api/generations/', '/api/usage/summary/'])
          expect(await customer.request('GET', path)).to.include({ status: 200 });
      }
    };
    await Promise.all(Array.from({ length: CLIENTS }, runClient));
    await eventually('all generations have ended', async () => {
      const [row] = await service.sql(`SELECT count(*) = 0 AS done FROM generations WHERE status = 'queued'`);
      return row.done as boolean;
    });
  }

  // Each costs some 300 bytes that only a full collection frees, and makes code slower that meets such objects. They come
  // from ids as names of properties, from generator functions inside of functions, and on Node 20 from literals that begin
  // with a spread and add properties to it.
  it('create no hidden class for each request or generation', async () => {
    await runGenerations(WARMUP_GENERATIONS);
    const since = Date.now();
    await runGenerations(GENERATIONS);
    const places: string[] = [];
    for (const { name, program, logfile, startedAt } of programs) {
      expect(await program.stop(), `status of ${name}`).to.equal(0);
      places.push(...findPlaces(readFileSync(logfile, 'utf8'), since - startedAt, name));
    }
    expect(places).to.deep.equal([]);
  });
});
