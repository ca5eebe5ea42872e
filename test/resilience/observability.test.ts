import { isDeepStrictEqual } from 'node:util';
import { expect } from 'chai';
import { Queue } from 'bullmq';
import { findFreePort } from '../../dev/local/servers/ports.ts';
import { FaultProxy } from '../fakes/faultProxy.ts';
import { type TestCustomer, IMAGE, request } from '../harness/apiClient.ts';
import { eventually, type TestService, startTestService } from '../harness/testService.ts';

const TOKEN = 'a-token-of-the-scraper';

/** Returns the value of a sample in a scrape, or 0 if it is missing. */
function readSample(text: string, name: string, labels: Record<string, string> = {}): number {
  const lines = text.split('\n').filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `));
  const fits = (line: string) => Object.entries(labels).every(([key, value]) => line.includes(`${key}="${value}"`));
  return lines.filter(fits).reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
}

interface Line {
  msg: string;
  requestId?: string;
  jobId?: string;
  queue?: string;
  generationId?: string;
  route?: string;
}

const listLogLines = (logs = ''): string[] => logs.split('\n').filter((line) => line.startsWith('{'));
const parseLogLines = (logs = ''): Line[] => listLogLines(logs).map((line) => JSON.parse(line) as Line);

describe('observability', () => {
  let service: TestService;
  let customer: TestCustomer;
  const ports = { api: 0, worker: 0 };

  before(async () => {
    Object.assign(ports, { api: await findFreePort(), worker: await findFreePort() });
    service = await startTestService({ apis: 0, workers: 0 });
    const settings = { METRICS_HOST: '127.0.0.1', METRICS_TOKEN: TOKEN, GIT_COMMIT: 'a1b2c3d' };
    await service.startApi({ ...settings, METRICS_PORT: String(ports.api) });
    await service.startWorker({ ...settings, METRICS_PORT: String(ports.worker) });
    customer = await service.createCustomer('studio');
  });
  after(() => service.stop());

  const scrape = async (who: 'api' | 'worker'): Promise<string> => {
    const headers = { authorization: `Bearer ${TOKEN}` };
    const { status, body } = await request(`http://127.0.0.1:${ports[who]}`, 'GET', '/metrics', { headers });
    expect(status).to.equal(200);
    return body as string;
  };
  const readStatus = async (status: string) =>
    readSample(await scrape('worker'), 'genmeter_model_status', { model: 'imgmodel-2', status });
  const readTaskCounts = async () => {
    const text = await scrape('worker');
    const count = (kind: string, state: string) => readSample(text, 'genmeter_tasks', { kind, state });
    return [
      count('payout.transfer', 'failing'),
      count('payout.transfer', 'due'),
      count('invoice.issue', 'given_up'),
      readSample(text, 'genmeter_tasks_oldest_seconds', { kind: 'payout.transfer' }),
    ];
  };

  describe('metrics', () => {
    it('are served on a separate port only, and only with the token', async () => {
      const base = `http://127.0.0.1:${ports.api}`;
      expect((await request(base, 'GET', '/metrics')).status).to.equal(401);
      const wrong = { authorization: 'Bearer something-else-altogether' };
      expect((await request(base, 'GET', '/metrics', { headers: wrong })).status).to.equal(401);
      const right = { authorization: `Bearer ${TOKEN}` };
      expect((await request(base, 'GET', '/api/ledger/', { headers: right })).status).to.equal(404);
      expect((await customer.request('GET', '/metrics')).status).to.equal(404);
    });

    it('name the version, the commit and the Node version that a process runs', async () => {
      const labels = { version: '2.0.0', commit: 'a1b2c3d', node: process.versions.node };
      for (const who of ['api', 'worker'] as const)
        expect(readSample(await scrape(who), 'genmeter_build_info', labels)).to.equal(1);
    });

    it('report the connections of the pool and its maximum', async () => {
      const text = await scrape('api');
      const name = 'genmeter_database_pool_connections';
      expect(readSample(text, name, { state: 'idle' }) + readSample(text, name, { state: 'used' })).to.be.above(0);
      expect(text).to.include(`${name}{state="pending"} 0`);
      expect(readSample(text, 'genmeter_database_pool_max_connections')).to.equal(10);
    });

    it('count requests by route and status, under the pattern of the route', async () => {
      const { uuid } = await customer.createImage();
      await customer.waitForEnd(uuid);
      await customer.request('GET', '/api/generations/no-uuid/');
      await request(service.baseUrl, 'GET', '/nowhere/at/all');
      const text = await scrape('api');
      const count = 'genmeter_http_requests_total';
      expect(readSample(text, count, { route: '/api/generations/create/', status: '201', method: 'POST' })).to.be.above(
        0,
      );
      expect(readSample(text, count, { route: '/api/generations/:uuid/', status: '404' })).to.equal(1);
      expect(readSample(text, count, { route: 'none', status: '404' })).to.be.above(0);
      const durations = 'genmeter_http_request_duration_seconds_count';
      expect(readSample(text, durations, { route: '/api/generations/create/' })).to.be.above(0);
      expect(text).to.not.include(uuid).and.to.not.include('nowhere');
    });

    it('count credits burned and refunded, ends, upstream requests and jobs', async () => {
      const before = { api: await scrape('api'), worker: await scrape('worker') };
      const good = await customer.createVideo();
      expect((await customer.waitForEnd(good.uuid)).status).to.equal('succeeded');
      service.upstream.submit = 'refuse';
      const bad = await customer.createImage();
      expect((await customer.waitForEnd(bad.uuid)).status).to.equal('failed');
      service.upstream.submit = undefined;
      const after = { api: await scrape('api'), worker: await scrape('worker') };
      const gained = (who: 'api' | 'worker', name: string, labels: Record<string, string> = {}) =>
        readSample(after[who], name, labels) - readSample(before[who], name, labels);
      expect(gained('api', 'genmeter_credits_burned_total', { model: 'vidmodel-video' })).to.equal(35);
      expect(gained('api', 'genmeter_credits_burned_total', { model: 'imgmodel-2' })).to.equal(8);
      expect(gained('worker', 'genmeter_credits_refunded_total')).to.equal(8);
      expect(gained('worker', 'genmeter_generations_ended_total', { outcome: 'succeeded' })).to.equal(1);
      expect(gained('worker', 'genmeter_generations_ended_total', { outcome: 'failed' })).to.equal(1);
      const upstream = 'genmeter_upstream_request_duration_seconds_count';
      expect(gained('worker', upstream, { upstream: 'fal', operation: 'submit', outcome: 'ok' })).to.equal(1);
      expect(gained('worker', upstream, { upstream: 'fal', operation: 'submit', outcome: 'rejected' })).to.equal(1);
      expect(gained('worker', 'genmeter_job_duration_seconds_count', { outcome: 'done' })).to.be.above(0);
    });

    it('report the status of every model', async () => {
      await eventually('online', async () => (await readStatus('online')) === 1, 20_000);
      expect(await readStatus('offline')).to.equal(0);
      await service.sql(`UPDATE upstream_health SET circuit_open_until = now() + interval '1 hour'`);
      await eventually('offline', async () => (await readStatus('offline')) === 1, 20_000);
      await service.sql('UPDATE upstream_health SET circuit_open_until = NULL');
    });

    it('report the depth of queues and backlog, and the age of the oldest entry', async () => {
      service.upstream.outcome = 'wait';
      const { uuid } = await customer.createImage('the oldest');
      await eventually('the backlog is seen', async () => {
        const text = await scrape('worker');
        const isThere = readSample(text, 'genmeter_backlog', { of: 'generations' }) === 1;
        return isThere && readSample(text, 'genmeter_backlog_oldest_seconds', { of: 'generations' }) > 0;
      });
      const text = await scrape('worker');
      for (const queue of ['dispatch', 'poll', 'collect', 'billing', 'media', 'maintenance']) {
        expect(text).to.include(`genmeter_queue_jobs{queue="${queue}",state="waiting"}`);
        expect(text).to.include(`genmeter_queue_oldest_job_seconds{queue="${queue}"}`);
      }
      expect(readSample(text, 'genmeter_queue_jobs', { queue: 'maintenance', state: 'delayed' })).to.be.above(0);
      service.upstream.outcome = 'succeed';
      service.upstream.end('the oldest', 'succeeded');
      await customer.waitForEnd(uuid);
    });

    it('report the tasks of each kind, and 0 for those without any', async () => {
      await service.sql(
        `INSERT INTO tasks (kind, key, run_at, attempts, last_error, created_at)
         VALUES ('payout.transfer', 'failing', now() + interval '1 hour', 2, 'timeout', now()),
                ('invoice.issue', 'given up', NULL, 9, 'no such invoice', now())`,
      );
      await eventually(
        'the tasks are counted',
        async () => isDeepStrictEqual(await readTaskCounts(), [1, 0, 1, 0]),
        20_000,
      );
      await service.sql(`DELETE FROM tasks WHERE kind IN ('payout.transfer', 'invoice.issue')`);
      await eventually('they report 0', async () => isDeepStrictEqual(await readTaskCounts(), [0, 0, 0, 0]), 20_000);
    });

    it('of a source that cannot be read are missing until it can, and report the time of the last reading', async () => {
      const [redis, database, port] = await Promise.all([
        new FaultProxy(service.env['REDIS_URL'] as string).start(),
        new FaultProxy(service.env['DATABASE_URL'] as string).start(),
        findFreePort(),
      ]);
      const METRICS = { METRICS_HOST: '127.0.0.1', METRICS_PORT: String(port) };
      const worker = await service.startWorker({ ...METRICS, REDIS_URL: redis.url, DATABASE_URL: database.url });
      const readMetrics = async () => {
        const text = (await request(`http://127.0.0.1:${port}`, 'GET', '/metrics')).body as string;
        return {
          queues: /^genmeter_queue_jobs\{/m.test(text) && /^genmeter_queue_oldest_job_seconds\{/m.test(text),
          rows: /^genmeter_backlog\{/m.test(text) && /^genmeter_backlog_oldest_seconds\{/m.test(text),
          isAnyOfQueues: /^genmeter_queue_\w+\{/m.test(text),
          isAnyOfRows: /^genmeter_backlog(_oldest_seconds)?\{/m.test(text),
          queuesAt: readSample(text, 'genmeter_backlog_last_success_timestamp_seconds', { of: 'queues' }),
          rowsAt: readSample(text, 'genmeter_backlog_last_success_timestamp_seconds', { of: 'rows' }),
        };
      };
      try {
        await eventually('all metrics are read', async () => {
          const { queues, rows } = await readMetrics();
          return queues && rows;
        });
        const before = await readMetrics();
        expect(before.queuesAt).to.be.closeTo(Date.now() / 1_000, 30);

        redis.refuse();
        await eventually('queue metrics are missing, and backlog metrics are not', async () => {
          const { isAnyOfQueues, rowsAt } = await readMetrics();
          return !isAnyOfQueues && rowsAt > before.rowsAt;
        });
        const blind = await readMetrics();
        expect(blind.rows).to.equal(true);
        expect(blind.queuesAt).to.be.below(blind.rowsAt - 1);

        redis.open();
        database.refuse();
        await eventually('backlog metrics are missing', async () => !(await readMetrics()).isAnyOfRows);
        await eventually('queue metrics are back', async () => (await readMetrics()).queuesAt > blind.queuesAt);
        expect((await readMetrics()).queues).to.equal(true);

        const { rowsAt } = await readMetrics();
        database.open();
        await eventually('all metrics are back', async () => (await readMetrics()).rowsAt > rowsAt);
        expect(await readMetrics()).to.include({ queues: true, rows: true });
      } finally {
        await worker.kill();
        await Promise.all([redis.stop(), database.stop()]);
      }
    }).timeout(60_000);

    it('contain no customer data, and take less than 5 ms to scrape', async () => {
      const [{ uuid, id }] = await service.sql('SELECT uuid, id FROM accounts WHERE email = $1', [customer.email]);
      for (const who of ['api', 'worker'] as const) {
        const text = await scrape(who);
        for (const secret of [uuid, customer.email, customer.key, `account="${id}"`])
          expect(text).to.not.include(secret);
        // CPU time of the process, which does not include other programs on the machine. The minimum of several
        // batches, because it includes other work of the process.
        const spentMs = async () => Number(/^process_cpu_seconds_total ([\d.]+)/m.exec(await scrape(who))?.[1]) * 1_000;
        const costs: number[] = [];
        for (let batch = 0; batch < 10; batch += 1) {
          const before = await spentMs();
          for (let scrapes = 1; scrapes < 10; scrapes += 1) await scrape(who);
          costs.push(((await spentMs()) - before) / 10);
        }
        expect(Math.min(...costs)).to.be.within(0.01, 5);
      }
    });
  });

  describe('logs', () => {
    it('carry the request id of a create through all jobs that work on it', async () => {
      const requestId = `follow-me.${Date.now()}`;
      const created = await customer.request('POST', '/api/generations/create/', {
        body: { ...IMAGE, prompt: 'a lighthouse' },
        headers: { 'x-request-id': requestId },
      });
      expect(created.headers.get('x-request-id')).to.equal(requestId);
      const { uuid } = created.body;
      await customer.waitForEnd(uuid);
      await service.apis[0]?.waitForLog(new RegExp(`^(?=.*${requestId}).*"msg":"request"`, 'm'));
      await service.workers[0]?.waitForLog(new RegExp(`^(?=.*${requestId}).*"msg":"generation succeeded"`, 'm'));
      const of = (logs = '') => parseLogLines(logs).filter((line) => line.requestId === requestId);
      expect(of(service.apis[0]?.logs()).map(({ msg, generationId }) => [msg, generationId])).to.deep.equal([
        ['request', uuid],
      ]);
      const worker = of(service.workers[0]?.logs());
      expect(worker.map(({ msg, generationId }) => [msg, generationId])).to.deep.equal([
        ['generation submitted', uuid],
        ['generation succeeded', uuid],
      ]);
      expect(worker.every(({ jobId }) => typeof jobId === 'string' && jobId !== '')).to.equal(true);
      for (const { queue } of worker) expect(queue).to.be.oneOf(['dispatch', 'poll', 'collect', 'maintenance']);
    });

    it('contain no health checks, which balancers send every few seconds', async () => {
      for (const path of ['/api/health/', '/api/ready/']) await customer.request('GET', path);
      const headers = { 'x-request-id': 'after-the-probes' };
      await customer.request('GET', '/api/ledger/', { headers });
      await service.apis[0]?.waitForLog('after-the-probes');
      const routes = parseLogLines(service.apis[0]?.logs()).map((line) => line.route);
      expect(routes).to.include('/api/ledger/');
      expect(routes).to.not.include('/api/health/').and.to.not.include('/api/ready/');
    });

    it('take at most 300 bytes per request and 600 bytes per generation in the worker', async () => {
      const { uuid } = await customer.createImage();
      await customer.waitForEnd(uuid);
      await service.workers[0]?.waitForLog(new RegExp(`^(?=.*${uuid}).*"msg":"generation succeeded"`, 'm'));
      const requests = listLogLines(service.apis[0]?.logs()).filter((line) => line.includes('"msg":"request"'));
      expect(Math.max(...requests.map((line) => line.length + 1))).to.be.within(100, 300);
      const ofGeneration = listLogLines(service.workers[0]?.logs()).filter((line) => line.includes(uuid));
      expect(ofGeneration.reduce((sum, line) => sum + line.length + 1, 0)).to.be.within(200, 600);
    });

    it('and failed jobs in Redis contain the message of a database error without its statement', async () => {
      const connection = { url: service.env['REDIS_URL'] as string };
      const queue = new Queue('maintenance', { connection, prefix: `{${service.env['REDIS_PREFIX']}:maintenance}` });
      await service.sql('ALTER TABLE sign_in_attempts RENAME TO hidden_sign_in_attempts');
      try {
        const { id } = await queue.add('rows.prune', {});
        await eventually('the job has failed', async () => (await queue.getJobState(id as string)) === 'failed');
        const failed = await queue.getJob(id as string);
        expect(failed?.failedReason).to.equal('relation "sign_in_attempts" does not exist');
        expect(failed?.stacktrace?.join()).to.not.match(/DELETE|WHERE/i);
        const logged = new RegExp(`^(?=.*"jobId":"${id}").*"msg":"job failed"`, 'm');
        await service.workers[0]?.waitForLog(logged);
        const line = listLogLines(service.workers[0]?.logs()).find((text) => logged.test(text));
        expect(line)
          .to.include('sign_in_attempts')
          .and.to.not.match(/DELETE|WHERE/i);
      } finally {
        await service.sql('ALTER TABLE hidden_sign_in_attempts RENAME TO sign_in_attempts');
        await queue.close();
      }
    });

    it('accept a request id from the client only if it is valid, and never repeat it in a line', async () => {
      for (const bad of ['a b', 'x'.repeat(65), '{"a":1}', 'ü']) {
        const { headers } = await customer.request('GET', '/api/ledger/', {
          headers: { 'x-request-id': Buffer.from(bad).toString('latin1') },
        });
        expect(headers.get('x-request-id')).to.match(/^[0-9a-f]{8}-[0-9a-f-]{27}$/);
      }
      const lines = `${service.apis[0]?.logs()}${service.workers[0]?.logs()}`.split('\n');
      expect(lines.filter((line) => line.split('"requestId"').length > 2)).to.deep.equal([]);
      expect(lines.filter((line) => line.split('"jobId"').length > 2)).to.deep.equal([]);
      expect(lines.filter((line) => line.split('"queue"').length > 2)).to.deep.equal([]);
    });
  });
});
