import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { expect } from 'chai';
import { createRedisClient, ReconnectingRedis } from '../../shared/lib/redis.ts';

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
});
