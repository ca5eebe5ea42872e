import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { findFreePort } from '../../dev/local/servers/ports.ts';
import { findRedis, type RedisBinary } from '../../dev/local/servers/redisBinaries.ts';
import { requireTestEnv } from './databases.ts';
import { eventually } from './testService.ts';

/** Name by which the Sentinels of a test know their master. */
export const MASTER_NAME = 'genmeter';
const SLOTS = 16_384;
/** Data of a test is not kept, and a replica is synchronised at once. */
const SERVER_ARGUMENTS = ['--save', '', '--appendonly', 'no', '--repl-diskless-sync-delay', '0'];

/** A redis-server process with a connection for commands of the test. */
export interface TestRedisServer {
  port: number;
  client: Redis;
  /** Ends the process, and waits. */
  kill(): Promise<void>;
  /** Stops the process as a loss of its power would: its connections stay open. */
  freeze(): void;
}

/** Servers of one test, which are killed together at its end. */
export class RedisTopology {
  readonly #binary: RedisBinary;
  readonly servers: TestRedisServer[] = [];

  private constructor(binary: RedisBinary) {
    this.#binary = binary;
  }

  /**
   * Finds the Redis that `npm start` uses. Undefined where that is the JavaScript fallback, which has no replication.
   */
  static async open(): Promise<RedisTopology | undefined> {
    const binary = await findRedis(requireTestEnv('TEST_FOLDER'), () => {});
    return binary.keepsData ? new RedisTopology(binary) : undefined;
  }

  /**
   * Starts a server with arguments, or a Sentinel with a configuration; on the port of a killed server if it is given.
   */
  async start(
    args: readonly string[] = [],
    sentinelConfig?: readonly string[],
    usedPort?: number,
  ): Promise<TestRedisServer> {
    const port = usedPort ?? (await findFreePort());
    const dir = join(requireTestEnv('TEST_FOLDER'), `redis-${port}`);
    mkdirSync(dir, { recursive: true });
    const options = ['--port', String(port), '--bind', '127.0.0.1', '--dir', dir];
    const configFile = join(dir, 'sentinel.conf');
    if (sentinelConfig !== undefined) writeFileSync(configFile, sentinelConfig.map((line) => `${line}\n`).join(''));
    const child = spawn(
      this.#binary.file,
      sentinelConfig === undefined
        ? [...options, ...SERVER_ARGUMENTS, ...args]
        : [configFile, '--sentinel', ...options],
      { stdio: 'ignore', env: { ...process.env, ...this.#binary.env, LC_ALL: 'C' } },
    );
    const client = new Redis(port, '127.0.0.1', { maxRetriesPerRequest: null, retryStrategy: () => 50 });
    client.on('error', () => {});
    const freeze = () => {
      client.disconnect();
      child.kill('SIGSTOP');
    };
    const server = { port, client, kill: () => kill(child, client), freeze };
    this.servers.push(server);
    await client.ping();
    return server;
  }

  /** Starts a master with replicas, and waits until they are synchronised. */
  async startReplicated(replicas: number): Promise<TestRedisServer[]> {
    const master = await this.start();
    const replicaOf = ['--replicaof', `127.0.0.1 ${master.port}`];
    const others = await Promise.all(Array.from({ length: replicas }, () => this.start(replicaOf)));
    await waitForReplicas(master, replicas);
    return [master, ...others];
  }

  /** Starts Sentinels of a master, and waits until all of them know each other and the replicas. */
  async startSentinels(count: number, master: TestRedisServer, replicas: number): Promise<TestRedisServer[]> {
    const config = [
      `sentinel monitor ${MASTER_NAME} 127.0.0.1 ${master.port} 2`,
      `sentinel down-after-milliseconds ${MASTER_NAME} 2000`,
      `sentinel failover-timeout ${MASTER_NAME} 10000`,
    ];
    const sentinels = await Promise.all(Array.from({ length: count }, () => this.start([], config)));
    for (const { client } of sentinels) {
      await eventually('the Sentinel knows the others', async () => {
        const state = await describeMaster(client);
        return state['num-other-sentinels'] === String(count - 1) && state['num-slaves'] === String(replicas);
      });
    }
    return sentinels;
  }

  /** Starts a Redis Cluster of masters with one replica each. */
  async startCluster(masterCount: number): Promise<TestRedisServer[]> {
    const args = ['--cluster-enabled', 'yes', '--cluster-node-timeout', '2000'];
    const nodes = await Promise.all(Array.from({ length: 2 * masterCount }, () => this.start(args)));
    const masters = nodes.slice(0, masterCount);
    for (const [index, { client }] of masters.entries()) {
      const from = Math.ceil((index * SLOTS) / masterCount);
      const to = Math.ceil(((index + 1) * SLOTS) / masterCount);
      await client.cluster('ADDSLOTS', ...Array.from({ length: to - from }, (_, offset) => from + offset));
    }
    for (const [index, node] of nodes.entries()) {
      await node.client.call('CLUSTER', 'SET-CONFIG-EPOCH', String(index + 1));
      if (index > 0) await nodes[0]!.client.cluster('MEET', '127.0.0.1', node.port);
    }
    const knows = (text: string) => async () =>
      (await Promise.all(nodes.map(({ client }) => client.cluster('INFO')))).every((info) => info.includes(text));
    await eventually('the nodes know each other', knows(`cluster_known_nodes:${nodes.length}`), 30_000);
    for (const [index, { client }] of nodes.slice(masterCount).entries()) {
      await client.cluster('REPLICATE', await masters[index]!.client.cluster('MYID'));
    }
    await eventually('the cluster is complete', knows('cluster_state:ok'), 30_000);
    await Promise.all(masters.map((master) => waitForReplicas(master, 1)));
    return nodes;
  }

  async stop(): Promise<void> {
    await Promise.all(this.servers.map((server) => server.kill()));
  }
}

/** Finds the master that serves a key of a Redis Cluster. */
export async function findSlotMaster(nodes: readonly TestRedisServer[], key: string): Promise<TestRedisServer> {
  const { client } = nodes[0]!;
  const slot = await client.cluster('KEYSLOT', key);
  const ranges = await client.cluster('SLOTS');
  const port = ranges.find(([from, to]) => from <= slot && slot <= to)?.[2]?.[1];
  return nodes.find((node) => node.port === port)!;
}

async function waitForReplicas({ client }: TestRedisServer, count: number): Promise<void> {
  await eventually(
    'the replicas are synchronised',
    async () => ((await client.info('replication')).match(/^slave\d+:.*state=online/gm) ?? []).length === count,
    30_000,
  );
}

async function describeMaster(sentinel: Redis): Promise<Record<string, string>> {
  const fields = (await sentinel.call('SENTINEL', 'MASTER', MASTER_NAME)) as string[];
  return Object.fromEntries(fields.flatMap((name, index) => (index % 2 === 0 ? [[name, fields[index + 1]!]] : [])));
}

async function kill(child: ChildProcess, client: Redis): Promise<void> {
  client.disconnect();
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
}
