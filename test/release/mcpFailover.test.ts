import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { MasterProxy } from '../fakes/masterProxy.ts';
import { INITIALIZE, postMcp } from '../harness/mcpClient.ts';
import { MASTER_NAME, RedisTopology, type TestRedisServer } from '../harness/redisTopologies.ts';
import { appendRunEvent } from '../harness/runEvents.ts';
import { scaleTimeout } from '../harness/scaleTimeout.ts';
import { eventually, startTestService, type TestService } from '../harness/testService.ts';

/** Longest time from the promotion of a master, or its restart, to the next answer of MCP. */
const RECOVERY_MS = 2_000;
const PAUSE_MS = 20;
/** Time without a master: longer than a command waits, so that a request fails. */
const OUTAGE_MS = 1_200;
/** Time without a failure after which MCP counts as recovered. */
const CALM_MS = 2_500;

const becomesMaster = ({ client }: TestRedisServer) =>
  eventually('promoted', async () => (await client.role())[0] === 'master', 20_000);

describe('MCP after the master of Redis has gone', () => {
  let topology: RedisTopology;
  let service: TestService | undefined;
  let proxy: MasterProxy | undefined;
  beforeEach(async function () {
    const found = await RedisTopology.open();
    if (found === undefined) {
      const reason = 'this machine has no real Redis, only the JavaScript fallback';
      appendRunEvent({ kind: 'skip', file: this.currentTest?.file ?? '', reason });
      return this.skip();
    }
    topology = found;
  });
  afterEach(async () => {
    await service?.stop();
    service = undefined;
    await proxy?.stop();
    proxy = undefined;
    await topology?.stop();
  });

  /**
   * Opens sessions and reads a list without a pause, and expects MCP to work again soon after a new master is there.
   * @param fail resolves at that time.
   */
  async function recovers(redisUrl: string, fail: () => Promise<void>): Promise<void> {
    service = await startTestService({ redisUrl, workers: 0 });
    const customer = await service.createCustomer('studio');
    const openSession = () => postMcp(customer, INITIALIZE);
    expect((await openSession()).status).to.equal(200);
    const failures: [number, string | null][] = [];
    let failedAt = 0;
    let workedAt = 0;
    const stop = new AbortController();
    const load = (async () => {
      while (!stop.signal.aborted) {
        const startedAt = performance.now();
        const { status, headers } = await openSession();
        if (status === 200 && workedAt <= failedAt) workedAt = performance.now();
        if (status !== 200) {
          failures.push([status, headers.get('retry-after')]);
          failedAt = startedAt;
        }
        expect((await customer.request('GET', '/api/generations/')).status).to.equal(200);
        await delay(PAUSE_MS);
      }
    })();
    await fail();
    const promotedAt = performance.now();
    const isCalm = () => Math.min(performance.now() - failedAt, performance.now() - promotedAt) > CALM_MS;
    await Promise.race([load, eventually('MCP works', isCalm, 60_000)]);
    stop.abort();
    await load;
    expect(failures).to.not.have.length(0);
    expect(failures.filter(([status, seconds]) => status !== 503 || seconds !== '2')).to.deep.equal([]);
    expect(workedAt - promotedAt).to.be.below(scaleTimeout(RECOVERY_MS));
  }

  it('works within two seconds of a killed server that is started again', async () => {
    const server = await topology.start();
    await recovers(`redis://127.0.0.1:${server.port}`, async () => {
      await server.kill();
      await delay(OUTAGE_MS);
      await topology.start([], undefined, server.port);
    });
  });

  it('works within two seconds of a killed master whose replica takes over its address', async () => {
    const servers = await topology.startReplicated(1);
    const [master, replica] = servers as [TestRedisServer, TestRedisServer];
    proxy = new MasterProxy(servers);
    await recovers(await proxy.start(), async () => {
      await master.kill();
      await delay(OUTAGE_MS);
      await replica.client.call('REPLICAOF', 'NO', 'ONE');
    });
  });

  for (const how of ['kill', 'freeze'] as const) {
    it(`works within two seconds of the promotion when Sentinels replace their master (${how})`, async () => {
      const [master, replica] = (await topology.startReplicated(1)) as [TestRedisServer, TestRedisServer];
      const sentinels = await topology.startSentinels(3, master, 1);
      const hosts = sentinels.map(({ port }) => `127.0.0.1:${port}`);
      await recovers(`redis+sentinel://${hosts.join(',')}/${MASTER_NAME}`, async () => {
        await master[how]();
        await becomesMaster(replica);
      });
    });
  }
}).timeout(120_000);
