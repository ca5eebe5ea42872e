import { connectForBlocking, connectForCommands, type RedisClient } from '../../shared/lib/redis.ts';
import { FaultProxy } from '../fakes/faultProxy.ts';
import { requireTestEnv } from '../harness/databases.ts';
import { eventually, type TestService, startTestService } from '../harness/testService.ts';

describe('connections to a Redis that stops to answer without closing them', () => {
  let service: TestService;
  let proxy: FaultProxy;
  before(async () => {
    proxy = await new FaultProxy(requireTestEnv('TEST_REDIS_URL')).start();
    service = await startTestService({ workers: 0, redisUrl: proxy.url });
  });
  after(async () => {
    await service.stop();
    await proxy.stop();
  });

  /** Opens connections, lets the server become silent, and waits until they have found the one that replaces it. */
  async function survive(becomeSilent: (connections: RedisClient[]) => Promise<void>): Promise<void> {
    const connections = [connectForBlocking('test'), connectForCommands('test')];
    try {
      await eventually('ready', () => connections.every(({ status }) => status === 'ready'));
      await becomeSilent(connections);
      proxy.freezeOpenConnections();
      await eventually(
        'all answer through new connections',
        async () => {
          const answers = connections.map((redis) => Promise.race([redis.ping(), delayed(300)]).catch(() => ''));
          return (await Promise.all(answers)).every((answer) => answer === 'PONG');
        },
        20_000,
      );
    } finally {
      for (const connection of connections) connection.disconnect();
    }
  }

  it('are opened again, and reach the server that has taken its address over', async () => {
    await survive(async () => {});
  }).timeout(60_000);

  it('are opened again also if the server accepts connections and does not answer their handshake', async () => {
    await survive(async ([blocking]) => {
      proxy.freeze();
      await eventually('the handshake is not answered', () => blocking?.status === 'connect', 20_000);
    });
  }).timeout(60_000);
});

const delayed = (ms: number) => new Promise<string>((resolve) => setTimeout(() => resolve(''), ms));
