import { suspendAccount } from '../../../shared/domain/staff/suspension.ts';
import { FakeModerationService } from '../../fakes/moderationService.ts';
import { LossyProxy } from '../../fakes/lossyProxy.ts';
import { FakeUpstream } from '../../fakes/fakeUpstream.ts';
import type { TestCustomer } from '../apiClient.ts';
import { buildImageCatalog, makeImage } from '../inputImages.ts';
import { seedImages } from '../seeds.ts';
import { eventually, startTestService, type TestService } from '../testService.ts';
import { IMAGE, IMAGE_CREDITS, type SuiteAccount, type SuiteSettings } from './context.ts';
import { READER_IMAGES } from './generationCases.ts';

/** Plans of the accounts. */
const PLANS: Record<SuiteAccount, string | null> = {
  main: 'studio',
  reader: 'pro',
  retries: 'studio',
  crowded: 'lite',
  unsubscribed: null,
  poor: 'lite',
  suspended: 'lite',
  limited: 'lite',
};
/** Time after which a generation with `[later]` ends. */
const LATER_MS = 700;

/** A service for the client suite. */
export interface SuiteService {
  service: TestService;
  /** Creates accounts, so that each run of the suite has its own. */
  createSettings: () => Promise<SuiteSettings>;
  stop: () => Promise<void>;
}

/** Models of the suite: one that takes an image, one that does not, and one whose upstream is down. */
function buildCatalog(): string {
  const { models } = JSON.parse(buildImageCatalog()) as { models: Record<string, Record<string, unknown>> };
  const { animate, edit } = models;
  const image = { ...edit, inputs: undefined, credits: IMAGE_CREDITS };
  return JSON.stringify({
    models: {
      animate,
      [IMAGE.model]: { ...image, name: 'Images', upstreams: ['fal:fal-ai/nano-banana-2'], sort_order: 2 },
      gone: { ...image, name: 'Gone', upstreams: ['gone:images'], sort_order: 3 },
    },
  });
}

/** Starts a service with everything that the suite uses. Prompts decide how generations end. */
export async function startSuiteService(env: Record<string, string> = {}): Promise<SuiteService> {
  const moderation = new FakeModerationService();
  moderation.decide = ({ body }) => ({ allow: !String(body.prompt).includes('[forbidden]'), reason: 'Forbidden' });
  const [proxy, testUpstream] = [new LossyProxy(), new FakeUpstream()];
  await Promise.all([moderation.start(), proxy.start(), testUpstream.start()]);
  const upstreams = {
    // Without call-backs, the end of each generation is noticed two seconds later.
    fal: { callbacks: true },
    gone: { adapter: 'openai', base_url: 'http://127.0.0.1:9/v1', local: true },
  };
  const service = await startTestService({
    env: {
      CATALOG: buildCatalog(),
      UPSTREAMS: JSON.stringify({ upstreams, models: { 'gone:images': { input: { prompt: '$prompt' } } } }),
      MODERATION_URL: moderation.url,
      TEST_UPSTREAM_URL: testUpstream.url,
      WEBHOOK_ADDRESSES: 'any',
      ...env,
    },
  });
  const limited = await service.startApi({ RATE_LIMITS: 'on', RATE_CREATES_PER_MINUTE: '1' });
  proxy.target = service.baseUrl;
  readPrompts(service.upstream);
  await service.sql(
    `INSERT INTO upstream_health (model, position, upstream, status, consecutive_failures, consecutive_successes, probed_at, detail)
     VALUES ('gone', 0, '', 'offline', 3, 0, now() + interval '1 hour', '')
     ON CONFLICT (model, position) DO UPDATE SET status = 'offline', consecutive_failures = 3`,
  );
  await eventually('all models but one are online', async () => {
    const { data } = (await service.request('GET', '/api/models/')).body;
    return data.filter(({ status }: { status: string }) => status === 'online').length === data.length - 1;
  });
  const image = (await makeImage('png', { width: 30, height: 20 })).toString('base64');
  return {
    service,
    createSettings: async () => ({
      baseUrl: service.baseUrl,
      limitedUrl: limited.baseUrl,
      proxyUrl: proxy.url,
      keys: await createAccounts(service),
      image,
    }),
    stop: async () => {
      try {
        await service.stop();
      } finally {
        await Promise.all([moderation.stop(), proxy.stop(), testUpstream.stop()]);
      }
    },
  };
}

/**
 * Makes generations fail with `[fail]`, take some time with `[later]`, and wait in the upstream's queue with `[wait]`.
 */
function readPrompts(upstream: FakeUpstream): void {
  Object.assign(upstream, { outcome: 'wait', isQueueing: true });
  upstream.onAccepted = (job) => {
    if (job.prompt.includes('[wait]')) return;
    job.startedAt = Date.now();
    const end = () => upstream.finish(job, job.prompt.includes('[fail]') ? 'failed' : 'succeeded');
    if (job.prompt.includes('[later]')) setTimeout(end, LATER_MS);
    else end();
  };
}

async function createAccounts(service: TestService): Promise<Record<SuiteAccount, string>> {
  const names = Object.keys(PLANS) as SuiteAccount[];
  const created = await Promise.all(names.map((name) => service.createCustomer(PLANS[name])));
  const accounts = Object.fromEntries(names.map((name, index) => [name, created[index]])) as Record<
    SuiteAccount,
    TestCustomer
  >;
  await seedImages(service, accounts.reader, READER_IMAGES);
  await seedImages(service, accounts.poor, (await accounts.poor.balance()) - IMAGE_CREDITS + 1);
  // Creates without keys are repeated as often as responses are late: the slots must not be what ends that.
  await service.sql('UPDATE accounts SET parallel_limit = 100 WHERE email = $1', [accounts.retries.email]);
  service.fabricated.add('entitlement-matches-subscription');
  const [suspended] = await service.sql('SELECT id FROM accounts WHERE email = $1', [accounts.suspended.email]);
  await suspendAccount(Number(suspended.id), { kind: 'system', systemUser: 'test', reason: 'test' });
  return Object.fromEntries(names.map((name) => [name, accounts[name].key])) as Record<SuiteAccount, string>;
}
