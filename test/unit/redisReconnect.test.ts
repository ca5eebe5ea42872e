import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { ReconnectingCluster, ReconnectingRedis } from '../../shared/lib/reconnectingRedis.ts';
import { connectForCommands, createRedisClient } from '../../shared/lib/redis.ts';
import { setTestConfig } from '../harness/testConfig.ts';

describe('a connection for commands that requests wait for', () => {
  it('tries to reconnect every 200 ms at least, however long the outage lasts', async () => {
    // Accepts connections and closes them.
    const attempts: number[] = [];
    const server = createServer((socket) => {
      attempts.push(performance.now());
      socket.destroy();
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    setTestConfig({ REDIS_URL: `redis://127.0.0.1:${(server.address() as AddressInfo).port}` });
    const redis = connectForCommands('test') as Redis;
    while (attempts.length < 3) await setTimeout(10);
    const { retryStrategy } = redis.options;
    expect([1, 4, 5, 1_000].map((attempt) => retryStrategy?.(attempt))).to.deep.equal([50, 200, 200, 200]);
    redis.disconnect();
    server.close();
  });

  it('leaves a server that does not answer the end of the connection, and reconnects soon', async () => {
    // Keeps its side of each connection open, as a server that is frozen or has lost its power.
    const sockets: Socket[] = [];
    const server = createServer({ allowHalfOpen: true }, (socket) => sockets.push(socket.resume()));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    setTestConfig({ REDIS_URL: `redis://127.0.0.1:${(server.address() as AddressInfo).port}` });
    const redis = connectForCommands('test') as Redis;
    while (sockets.length === 0) await setTimeout(10);
    const startedAt = performance.now();
    redis.disconnect(true);
    while (sockets.length === 1) await setTimeout(10);
    expect(performance.now() - startedAt).to.be.below(1_500);
    redis.disconnect();
    for (const socket of sockets) socket.destroy();
    server.close();
  });
});

describe('a connection to the master that Sentinels know', () => {
  let sentinel: Server;
  let url: string;
  const sockets: Socket[] = [];

  before(async () => {
    // Accepts connections and never answers, so that clients keep connecting.
    sentinel = createServer((socket) => sockets.push(socket.on('error', () => {})));
    sentinel.listen(0, '127.0.0.1');
    await once(sentinel, 'listening');
    url = `redis+sentinel://127.0.0.1:${(sentinel.address() as AddressInfo).port}/main`;
  });
  after(() => {
    for (const socket of sockets) socket.destroy();
    sentinel.close();
  });

  async function openConnecting(): Promise<ReconnectingRedis> {
    const redis = createRedisClient(url, { isCertificateVerified: true }) as ReconnectingRedis;
    redis.on('error', () => {});
    while (sockets.length === 0) await setTimeout(10);
    expect(redis.status).to.equal('connecting');
    return redis;
  }

  /** Ends the attempt to connect as ioredis does when a Sentinel reports a failover meanwhile. */
  async function reportFailover(redis: ReconnectingRedis): Promise<void> {
    // `once` of node:events would reject at the error that precedes the end.
    const ended = new Promise((resolve) => redis.once('end', resolve));
    (redis as unknown as { connector: { disconnect(): void } }).connector.disconnect();
    for (const socket of sockets.splice(0)) socket.destroy();
    await ended;
  }

  it('is made again after a failover was reported while it was being made, as are its duplicates', async () => {
    const redis = await openConnecting();
    await reportFailover(redis);
    while (sockets.length === 0) await setTimeout(10);
    expect(redis.status).to.equal('connecting');
    const duplicate = redis.duplicate();
    expect(duplicate).to.be.instanceOf(ReconnectingRedis);
    duplicate.on('error', () => {});
    duplicate.disconnect();
    redis.disconnect();
  });

  it('is not made again once it was closed', async () => {
    sockets.splice(0);
    const redis = await openConnecting();
    redis.disconnect();
    for (const socket of sockets.splice(0)) socket.destroy();
    await setTimeout(1_500);
    expect(sockets).to.have.length(0);
    expect(redis.isClosed).to.equal(true);
  });

  it('counts as open again once it was opened after it was closed', async () => {
    const redis = await openConnecting();
    const ended = new Promise((resolve) => redis.once('end', resolve));
    redis.disconnect();
    for (const socket of sockets.splice(0)) socket.destroy();
    await ended;
    redis.connect().catch(() => {});
    expect(redis.isClosed).to.equal(false);
    redis.disconnect();
  });
});

describe('a connection to a Redis Cluster', () => {
  /** State that the node reports to the checks in turn; the last one repeats. It answers none while it is `silent`. */
  let states: string[];
  let node: Server;
  const sockets = new Set<Socket>();

  /** Answers as a cluster of one master that has all slots. */
  function answer(command: string, port: number): string {
    if (command.includes('\r\nSLOTS\r\n')) return `*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n$9\r\n127.0.0.1\r\n:${port}\r\n`;
    if (!command.includes('\r\nCLUSTER\r\n')) return '+OK\r\n';
    if (states[0] === 'silent') return '';
    const text = `cluster_state:${states.length > 1 ? states.shift() : states[0]}\r\n`;
    return `$${text.length}\r\n${text}\r\n`;
  }

  before(async () => {
    node = createServer((socket) => {
      sockets.add(socket.on('error', () => {}));
      socket.on('data', (data) => {
        const { port } = node.address() as AddressInfo;
        for (const command of data
          .toString()
          .toUpperCase()
          .split(/(?=^\*)/m))
          socket.write(answer(command, port));
      });
    });
    node.listen(0, '127.0.0.1');
    await once(node, 'listening');
  });
  after(() => {
    for (const socket of sockets) socket.destroy();
    node.close();
  });

  const open = () => {
    const url = `redis+cluster://127.0.0.1:${(node.address() as AddressInfo).port}`;
    const cluster = createRedisClient(url, { isCertificateVerified: true, lazyConnect: true }) as ReconnectingCluster;
    return cluster.on('error', () => {});
  };

  it('resolves its connect although the cluster was down during the first attempts, as in its duplicates', async () => {
    states = ['fail', 'fail', 'ok'];
    const cluster = open();
    await cluster.connect();
    expect([cluster.status, states]).to.deep.equal(['ready', ['ok']]);
    states = ['fail', 'ok'];
    const duplicate: ReconnectingCluster = cluster.duplicate();
    expect(duplicate).to.be.instanceOf(ReconnectingCluster);
    await duplicate.connect();
    expect(duplicate.status).to.equal('ready');
    duplicate.disconnect();
    cluster.disconnect();
  });

  it('rejects its connect when it is closed meanwhile', async () => {
    states = ['fail', 'silent'];
    const cluster = open();
    const connected = cluster.connect().then(
      () => 'connected',
      (error: Error) => error.message,
    );
    while (cluster.status !== 'connect' || states[0] !== 'silent') await setTimeout(5);
    cluster.disconnect();
    expect(await connected).to.equal('The connection to the cluster was closed.');
  });
});
