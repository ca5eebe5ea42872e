import { connectForBlocking, connectForCommands } from '../../shared/lib/redis.ts';
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

  it('are opened again, and reach the server that has taken its address over', async () => {
    const connections = [connectForBlocking('test'), connectForCommands('test')];
    try {
      await eventually('ready', () => connections.every(({ status }) => status === 'ready'));
      proxy.freezeOpenConnections();
      await eventually(
        'all answer through new connections',
        async () => {
          const answers = connections.map((redis) => Promise.race([redis.ping(), delayed(300)]).catch(() => ''));
          return (await Promise.all(answers)).every((answer) => answer === 'PONG');
        },
        15_000,
      );
    } finally {
      for (const connection of connections) connection.disconnect();
    }
  }).timeout(60_000);
});

const delayed = (ms: number) => new Promise<string>((resolve) => setTimeout(() => resolve(''), ms));
