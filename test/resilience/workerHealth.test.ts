import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { CORE_SCHEMA, load, mergeTag } from 'js-yaml';
import { findFreePort } from '../../dev/local/servers/ports.ts';
import { request } from '../harness/apiClient.ts';
import { useTestService } from '../harness/testService.ts';

const COMPOSE = new URL('../../compose.yaml', import.meta.url);

/** Runs the health check of compose.yaml, as a container of a worker does. @returns its exit status. */
function runComposeCheck(METRICS_PORT: string): number | null {
  const compose = load(readFileSync(COMPOSE, 'utf8'), { schema: CORE_SCHEMA.withTags(mergeTag) }) as any;
  const [, , ...args] = compose.services.worker.healthcheck.test as string[];
  return spawnSync(process.execPath, args, { env: { METRICS_PORT }, timeout: 10_000 }).status;
}

describe('the health check of a worker', () => {
  const service = useTestService({ apis: 0, workers: 0, spawn: 'workers' });

  it('is 200 without the token of the metrics, and fails once the worker is gone', async () => {
    const port = String(await findFreePort());
    const metrics = { METRICS_HOST: '127.0.0.1', METRICS_PORT: port, METRICS_TOKEN: 'a-token-of-the-scraper' };
    await service.startWorker(metrics);
    const base = `http://127.0.0.1:${port}`;
    expect((await request(base, 'GET', '/health')).status).to.equal(200);
    expect((await request(base, 'POST', '/health')).status).to.equal(401);
    expect((await request(base, 'GET', '/metrics')).status).to.equal(401);
    expect(runComposeCheck(port)).to.equal(0);
    await service.workers[0]?.kill();
    expect(runComposeCheck(port)).to.equal(1);
  });

  it('is not made in compose without a port for it', () => {
    expect(runComposeCheck('')).to.equal(0);
  });
});
