import { expect } from 'chai';
import { IMAGE, type TestCustomer } from '../harness/apiClient.ts';
import { HealthCheckedBalancer } from '../harness/healthCheckedBalancer.ts';
import { eventually, startTestService, type TestService } from '../harness/testService.ts';

const REQUESTS = 6_000;
const RESTARTS = 5;
const CLIENTS = 16;
const PARALLEL_LIMIT = 10_000;

describe('a rolling restart behind a load balancer with pooled connections', () => {
  let service: TestService;
  let balancer: HealthCheckedBalancer;
  let customers: TestCustomer[];
  before(async () => {
    service = await startTestService({ apis: 2, workers: 1, spawn: 'all', env: { DRAIN_MS: '2000' } });
    balancer = await new HealthCheckedBalancer('/api/serving/').start();
    balancer.targets = service.baseUrls;
    await eventually('all are ready', () => balancer.targets.every((target) => balancer.isHealthy(target)), 60_000);
    customers = await Promise.all(Array.from({ length: 4 }, () => service.createCustomer('studio')));
    await service.sql('UPDATE accounts SET parallel_limit = $1', [PARALLEL_LIMIT]);
  });
  after(async () => {
    await balancer.stop();
    await service.stop();
  });

  it('fails none of 6,000 requests while each of five API processes is stopped and replaced', async () => {
    const failures: string[] = [];
    const uuids: string[] = [];
    let sent = 0;
    let restarts = 0;

    async function send(customer: TestCustomer, method: string, path: string, body?: object): Promise<any> {
      sent += 1;
      try {
        const response = await fetch(new URL(path, balancer.url), {
          method,
          headers: { authorization: `Bearer ${customer.key}`, 'content-type': 'application/json' },
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        });
        const text = await response.text();
        if (response.ok) return JSON.parse(text);
        failures.push(`${method} ${path}: ${response.status} ${text}`);
      } catch (error) {
        failures.push(`${method} ${path}: ${String(error)}`);
      }
      return undefined;
    }

    const isDone = () => sent >= REQUESTS && restarts >= RESTARTS;

    async function runClient(customer: TestCustomer): Promise<void> {
      while (!isDone()) {
        const created = await send(customer, 'POST', '/api/generations/create/', { ...IMAGE, prompt: 'a pier' });
        if (created === undefined) continue;
        uuids.push(created.uuid);
        for (let read = 0; read < 30; read += 1) await send(customer, 'GET', '/api/usage/summary/');
        await send(customer, 'GET', `/api/generations/${created.uuid}/`);
        await send(customer, 'GET', '/api/generations/');
      }
    }

    async function restart(): Promise<void> {
      while (restarts < RESTARTS) {
        const oldest = service.apis.shift()!;
        expect(await oldest.stop(), oldest.logs()).to.equal(0);
        const { baseUrl } = await service.startApi();
        balancer.targets = service.baseUrls;
        await eventually('the new process is ready', () => balancer.isHealthy(baseUrl), 60_000);
        restarts += 1;
      }
    }

    const clients = Array.from({ length: CLIENTS }, (_, index) => runClient(customers[index % customers.length]!));
    await Promise.all([restart(), ...clients]);
    expect(failures).to.deep.equal([]);
    expect(sent).to.be.at.least(REQUESTS);
    const [{ found }] = await service.sql('SELECT count(*)::int AS found FROM generations');
    expect(found).to.equal(uuids.length);
    await eventually(
      'every generation has ended',
      async () => {
        const [{ queued }] = await service.sql(
          `SELECT count(*)::int AS queued FROM generations WHERE status = 'queued'`,
        );
        return queued === 0;
      },
      120_000,
    );
    await service.sql('UPDATE accounts SET parallel_limit = 8');
  });
}).timeout(400_000);
