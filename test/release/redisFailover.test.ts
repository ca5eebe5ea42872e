import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { getQueuePrefix } from '../../shared/queues/catalog.ts';
import { MasterProxy } from '../fakes/masterProxy.ts';
import { FailoverLoad } from '../harness/failoverLoad.ts';
import { findSlotMaster, MASTER_NAME, RedisTopology, type TestRedisServer } from '../harness/redisTopologies.ts';
import { appendRunEvent } from '../harness/runEvents.ts';
import { scaleTimeout } from '../harness/scaleTimeout.ts';
import { eventually, startTestService, type TestService } from '../harness/testService.ts';

/** Longest time that MCP may be unavailable when a master dies. */
const MCP_OUTAGE_MS = 6_000;
/** Time within which every connection leaves a master that was demoted. */
const LEAVE_MS = 2_000;

/** Finds a prefix of keys for which one master has both the sessions of MCP and the jobs that poll. */
async function findSharedMaster(nodes: readonly TestRedisServer[]) {
  for (;;) {
    const prefix = randomUUID();
    const master = await findSlotMaster(nodes, `{${prefix}}`);
    if (master === (await findSlotMaster(nodes, getQueuePrefix('poll', prefix)))) return { prefix, master };
  }
}

describe('a failover of Redis under load', () => {
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

  /** Runs the load over a failover, and expects that only MCP noticed it. */
  async function survives(redisUrl: string, failOver: () => Promise<void>, env = {}): Promise<void> {
    const limits = { RATE_LIMITS: 'on', RATE_CREATES_PER_MINUTE: '100000' };
    service = await startTestService({ redisUrl, env: { ...limits, ...env } });
    const started = service;
    const isReady = async () => (await started.request('GET', '/api/ready/')).status === 200;
    await eventually('ready', isReady, 60_000);
    const load = await FailoverLoad.start(service);
    await eventually('the load runs', () => load.uuids.length >= 20 && load.mcp.succeededAt.length >= 5, 60_000);
    const [before, failedOverAt] = [load.uuids.length, performance.now()];
    await failOver();
    // By then the failure was noticed, so that what succeeds afterwards shows the recovery.
    await eventually('the load ran over the failover', () => load.uuids.length >= before + 60, 60_000);
    // Connections that have found the new master early are closed once more when Sentinels announce it.
    await eventually('MCP works', () => load.hasMcpWorkedFor(2_000, failedOverAt + 2_000), 60_000);
    await eventually('ready again', isReady, 60_000);
    await load.stop();
    expect(load.failures).to.deep.equal([]);
    expect(load.mcpOutageMs).to.be.at.most(scaleTimeout(MCP_OUTAGE_MS));
    await eventually('every generation has ended', async () => (await load.countQueued()) === 0, 60_000);
    const unsettled = await service.sql(`SELECT uuid, status FROM generations WHERE status <> 'succeeded'`);
    expect(unsettled).to.deep.equal([]);
    await service.checkIntegrity({ isDrained: true });
  }

  it('loses no create and no read when a master of a Cluster is killed', async () => {
    const nodes = await topology.startCluster(3);
    const seeds = nodes.slice(0, 3).map(({ port }) => `127.0.0.1:${port}`);
    const { prefix, master } = await findSharedMaster(nodes);
    await survives(`redis+cluster://${seeds.join(',')}`, () => master.kill(), { REDIS_PREFIX: prefix });
  });

  it('loses no create and no read when the master that Sentinels watch is killed', async () => {
    const [master] = (await topology.startReplicated(2)) as [TestRedisServer];
    const sentinels = await topology.startSentinels(3, master, 2);
    const hosts = sentinels.map(({ port }) => `127.0.0.1:${port}`);
    await survives(`redis+sentinel://${hosts.join(',')}/${MASTER_NAME}`, () => master.kill());
  });

  it('readiness is 503 at a replica, which accepts no jobs', async () => {
    const [, replica] = (await topology.startReplicated(1)) as [TestRedisServer, TestRedisServer];
    service = await startTestService({ redisUrl: `redis://127.0.0.1:${replica.port}`, workers: 0 });
    const { status, body } = await service.request('GET', '/api/ready/');
    expect([status, body.detail]).to.deep.equal([503, 'Not ready: Redis is unavailable.']);
  });

  it('every connection leaves a demoted master behind a single address within two seconds', async () => {
    const servers = await topology.startReplicated(1);
    const [master, replica] = servers as [TestRedisServer, TestRedisServer];
    const front = new MasterProxy(servers);
    proxy = front;
    await survives(await front.start(), async () => {
      const connections = front.countConnections(master.port);
      await master.client.call('FAILOVER');
      await eventually('the replica is master', async () => (await replica.client.role())[0] === 'master');
      const within = scaleTimeout(LEAVE_MS);
      await eventually('no connection is left', () => front.countConnections(master.port) === 0, within);
      await eventually('all have moved', () => front.countConnections(replica.port) >= connections);
    });
  });
}).timeout(240_000);
