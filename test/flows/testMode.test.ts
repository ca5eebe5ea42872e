import { expect } from 'chai';
import sharp from 'sharp';
import { type RenderPool, startRenderPool } from '../../dev/sampleUpstream/renderPool.ts';
import { type SampleUpstream, startSampleUpstream } from '../../dev/sampleUpstream/server.ts';
import { eraseAccount } from '../../shared/domain/privacy/erase.ts';
import { pruneTestGenerations } from '../../shared/domain/generations/pruneTestGenerations.ts';
import { expireUploads } from '../../shared/domain/uploads/expireUploads.ts';
import type { Actor } from '../../shared/domain/audit/recordAuditEntry.ts';
import { refundGeneration } from '../../shared/domain/staff/generationActions.ts';
import { reinstateAccount, suspendAccount } from '../../shared/domain/staff/suspension.ts';
import { DEFAULT_MODELS } from '../../shared/spec/defaultModels.ts';
import { FakeUpstream } from '../fakes/fakeUpstream.ts';
import { isSignedWith, WebhookReceiver } from '../fakes/webhookReceiver.ts';
import { runAdminHere } from '../harness/adminCommand.ts';
import { IMAGE, type TestCustomer } from '../harness/apiClient.ts';
import { expectError } from '../harness/errorEnvelope.ts';
import { expectRejection } from '../harness/expectRejection.ts';
import { makeImage, upload } from '../harness/inputImages.ts';
import { addTestKey } from '../harness/testMode.ts';
import { eventually, startTestService, type TestService } from '../harness/testService.ts';

const ACTOR: Actor = { kind: 'system', systemUser: 'test', reason: 'test' };
const DAY_MS = 86_400_000;

/** A model of the default catalog, and one that takes images, whose params the sample upstream does not know. */
const CATALOG = JSON.stringify({
  models: {
    [IMAGE.model]: { ...DEFAULT_MODELS[IMAGE.model], uuid: undefined, upstreams: ['fal:fal-ai/nano-banana-2'] },
    poster: {
      name: 'Poster',
      kind: 'image',
      description: 'Posters.',
      upstreams: ['fal:fal-ai/poster'],
      params: {
        size: { enum: ['square', 'wide'], default: 'square' },
        steps: { type: 'integer', minimum: 10, maximum: 50, default: 28 },
        resolution: { enum: ['1K', '9K'], default: '9K' },
      },
      inputs: { images: { role: 'reference', max: 3 } },
      credits: 3,
      sort_order: 1,
    },
  },
});
const UPSTREAMS = JSON.stringify({
  models: { 'fal:fal-ai/poster': { input: { prompt: '$prompt', size: '$size', image_urls: '$reference' } } },
});

/** Creates an image and waits for its end. */
const end = async (tester: TestCustomer, prompt: string) => tester.waitForEnd((await tester.createImage(prompt)).uuid);

describe('test mode', () => {
  let upstream: FakeUpstream;
  let service: TestService;
  let receiver: WebhookReceiver;
  before(async () => {
    upstream = await new FakeUpstream().start();
    receiver = await new WebhookReceiver().start();
    service = await startTestService({
      env: {
        TEST_UPSTREAM_URL: upstream.url,
        WEBHOOK_ADDRESSES: 'any',
        SMTP_URL: 'smtp://127.0.0.1:1',
        MAIL_FROM: 'no-reply@example.com',
      },
    });
  });
  beforeEach(() => {
    service.clockOffsetMs = 0;
  });
  after(async () => {
    await service.stop();
    await Promise.all([receiver.stop(), upstream.stop()]);
  });

  const readLiveId = async ({ email }: TestCustomer): Promise<number> =>
    (await service.sql('SELECT id FROM accounts WHERE email = $1', [email]))[0].id;
  const readTestRow = async (customer: TestCustomer) =>
    (await service.sql('SELECT * FROM accounts WHERE live_account_id = $1', [await readLiveId(customer)]))[0];

  it('delivers events to endpoints and addresses of test mode only, and sends no e-mail', async () => {
    const customer = await service.createCustomer();
    const { tester } = await addTestKey(customer);
    const addEndpoint = async (owner: TestCustomer, path: string) =>
      (await owner.request('POST', '/api/webhooks/create/', { body: { url: `${receiver.url}${path}` } })).body;
    const [live, test] = [await addEndpoint(customer, '/live'), await addEndpoint(tester, '/test')];
    expect(live.uuid).to.not.equal(test.uuid);
    const { body } = await tester.request('POST', '/api/generations/create/', {
      body: { ...IMAGE, prompt: 'to be notified of', webhook_url: `${receiver.url}/single` },
    });
    await tester.waitForEnd(body.uuid);
    const find = (path: string) => receiver.received.filter((webhook) => webhook.path === path);
    await eventually('both arrive', () => find('/test').length > 0 && find('/single').length > 0);
    expect(find('/live').filter((webhook) => webhook.body.includes('generation.'))).to.deep.equal([]);
    const webhook = find('/test').find(({ body: text }) => text.includes('generation.succeeded'));
    expect(JSON.parse(webhook?.body ?? '').data).to.include({ uuid: body.uuid, credits_charged: 0 });
    expect(isSignedWith(test.secret, webhook as never)).to.equal(true);
    const readSecret = async (query: string) =>
      (await customer.requestWithSession('GET', `/api/webhooks/default/secret/${query}`)).body.secret;
    expect(isSignedWith(await readSecret('?mode=test'), find('/single')[0] as never)).to.equal(true);
    expect(await readSecret('')).to.not.equal(await readSecret('?mode=test'));
    expectError(
      await customer.requestWithSession('GET', '/api/webhooks/default/secret/?mode=x'),
      'validation_error',
      'mode',
    );
    expectError(await tester.request('GET', `/api/webhooks/${live.uuid}/`), 'not_found');
    const { id } = await readTestRow(customer);
    expect(await service.sql('SELECT kind FROM emails WHERE account_id = $1', [id])).to.deep.equal([]);
    await customer.request('DELETE', `/api/webhooks/${live.uuid}/`);
    await tester.request('DELETE', `/api/webhooks/${test.uuid}/`);
  });

  it('is rejected while the account is suspended, also by the charge, and works again afterwards', async () => {
    const customer = await service.createCustomer(null);
    const { tester } = await addTestKey(customer);
    await end(tester, 'before');
    const id = await readLiveId(customer);
    await suspendAccount(id, ACTOR);
    expectError(await tester.createGeneration(IMAGE), 'account_suspended');
    expectError(await tester.request('GET', '/api/generations/'), 'account_suspended');
    expect((await readTestRow(customer)).suspended_at).to.not.equal(null);
    await reinstateAccount(id, ACTOR);
    expect((await end(tester, 'after')).status).to.equal('succeeded');
  });

  it('counts its keys after the last page of their usage, too', async () => {
    const customer = await service.createCustomer('pro');
    const { tester } = await addTestKey(customer);
    const { body } = await tester.request('GET', '/api/usage/keys/?page=9');
    expect(body.pagination).to.include({ total_items: 1, total_pages: 1 });
  });

  it('ends with the access of the account, is exported with it and erased with it', async () => {
    const customer = await service.createCustomer(null);
    const { tester } = await addTestKey(customer);
    const { output_url: url } = await end(tester, 'only in test mode');
    const id = await readLiveId(customer);
    const out = await runAdminHere('export-account', customer.email);
    const exported = JSON.parse(out);
    expect(exported.generations).to.deep.equal([]);
    expect(exported.test_generations).to.have.lengthOf(1);
    const [generation] = exported.test_generations;
    expect(generation.prompt).to.equal('only in test mode');
    expect(new URL(generation.output_url).pathname).to.equal(new URL(url).pathname);
    await eraseAccount(id);
    expectError(await tester.request('GET', '/api/generations/'), 'invalid_api_key');
    const [erased] = await service.sql('SELECT * FROM accounts WHERE live_account_id = $1', [id]);
    expect(erased.erased_at).to.not.equal(null);
    expect(await service.sql('SELECT prompt FROM generations WHERE account_id = $1', [erased.id])).to.deep.equal([
      { prompt: '' },
    ]);
    await eventually('the file is deleted', async () => (await fetch(url)).status === 404);
  });

  it('waits for the erasure of an account until its test generations have ended', async () => {
    const customer = await service.createCustomer(null);
    const { tester } = await addTestKey(customer);
    upstream.outcome = 'wait';
    const { uuid } = await tester.createImage('still running');
    await expectRejection(eraseAccount(await readLiveId(customer)), /in progress/);
    upstream.outcome = 'succeed';
    await tester.request('POST', `/api/generations/${uuid}/cancel/`);
  });

  it('cannot be refunded by staff, who find the account by a test generation', async () => {
    const customer = await service.createCustomer(null);
    const { tester } = await addTestKey(customer);
    const { uuid } = await end(tester, 'nothing to refund');
    await expectRejection(refundGeneration(uuid, ACTOR), /cost nothing/);
    const out = await runAdminHere('find-account', String((await readTestRow(customer)).id));
    expect(out).to.include(customer.email);
  });

  it('deletes its generations after 30 days', async () => {
    const customer = await service.createCustomer();
    const { tester } = await addTestKey(customer);
    const [test, live] = [await end(tester, 'old'), await customer.createImage('kept')];
    await customer.waitForEnd(live.uuid);
    service.clockOffsetMs = 31 * DAY_MS;
    await pruneTestGenerations();
    service.clockOffsetMs = 0;
    expectError(await tester.readGeneration(test.uuid), 'not_found');
    expect((await customer.readGeneration(live.uuid)).status).to.equal(200);
  });
});

describe('test mode with the sample upstream', () => {
  let pool: RenderPool;
  let sample: SampleUpstream;
  let service: TestService;
  before(async () => {
    pool = await startRenderPool(1);
    sample = await startSampleUpstream({ pool, delayMs: 50 });
    service = await startTestService({ env: { TEST_UPSTREAM_URL: sample.url, CATALOG, UPSTREAMS } });
  });
  after(async () => {
    await service.stop();
    await sample.stop();
    await pool.close();
  });

  it('renders the requested size, and follows the words in prompts', async () => {
    const { tester } = await addTestKey(await service.createCustomer(null));
    const made = await tester.createGeneration({
      model: IMAGE.model,
      params: { resolution: '1K', aspect_ratio: '16:9' },
      prompt: 'a lighthouse',
    });
    const image = await tester.waitForEnd(made.body.uuid);
    expect(image).to.include({ status: 'succeeded', is_watermarked: true });
    const file = Buffer.from(await (await fetch(image.output_url)).arrayBuffer());
    const { width, height, format } = await sharp(file).metadata();
    expect({ width, height, format }).to.deep.equal({ width: 1376, height: 768, format: 'png' });
    const failed = await end(tester, 'a storm [fail]');
    expect(failed).to.include({ status: 'failed', credits_charged: 0 });
    expect(failed.error_message).to.include('could not generate');
    const rejected = await end(tester, 'a storm [reject]');
    expect(rejected.status).to.equal('failed');
    expect(rejected.error_message).to.not.equal(failed.error_message);
    const slow = await tester.createImage('a storm [slow]');
    expect((await tester.request('GET', `/api/generations/${slow.uuid}/?wait=3`)).body.status).to.equal('queued');
    await tester.request('POST', `/api/generations/${slow.uuid}/cancel/`);
  });

  it('runs models with params of their own, and takes images, which it keeps for a day', async () => {
    const { tester } = await addTestKey(await service.createCustomer(null));
    const name = await upload(tester, await makeImage());
    for (const params of [{}, { size: 'wide', images: [name] }]) {
      const { status, body } = await tester.createGeneration({ model: 'poster', params, prompt: 'a poster' });
      expect([status, body.credits_charged]).to.deep.equal([201, 0]);
      expect(await tester.waitForEnd(body.uuid)).to.include({ status: 'succeeded', is_watermarked: true });
    }
    service.clockOffsetMs = DAY_MS + 60_000;
    await expireUploads();
    expect((await tester.request('GET', `/api/uploads/${name.slice('upload:'.length)}/`)).status).to.equal(404);
  });
});
