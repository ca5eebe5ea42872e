import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import type { TestCustomer } from '../harness/apiClient.ts';
import { createDatabase, runRelease } from '../harness/databases.ts';
import { scaleTimeout } from '../harness/scaleTimeout.ts';
import { eventually, release, startTestService, type TestService, useTestService } from '../harness/testService.ts';
import { FakeUpstream } from '../fakes/fakeUpstream.ts';
import { GENERATION_DEADLINE_MS } from '../../shared/spec/limits.ts';

const SIZES = { resolution: { enum: ['1K', '2K'], default: '1K' }, aspect_ratio: { enum: ['1:1'], default: '1:1' } };

const poster = (credits: unknown, upstream: string) => ({
  name: 'Poster model',
  kind: 'image',
  description: 'Posters from a text prompt.',
  upstreams: [upstream],
  params: SIZES,
  credits,
});
const sketch = { ...poster(2, 'fal:acme/sketches'), name: 'Sketch model', description: 'Sketches.', sort_order: 5 };

const CATALOGS = {
  cheap: JSON.stringify({ models: { 'poster-1': poster(10, 'fal:acme/cheap'), 'sketch-1': sketch } }),
  costly: JSON.stringify({
    models: { 'poster-1': poster({ $by: 'resolution', '1K': 30, '2K': 60 }, 'fal:acme/costly') },
  }),
  second: JSON.stringify({ models: { 'poster-1': poster(5, 'second:acme/posters') } }),
};

const createPoster = (baseUrl: string, customer: TestCustomer, params = {}) =>
  customer.on(baseUrl).createGeneration({ model: 'poster-1', prompt: `A poster ${randomUUID()}`, params });

describe('two services with different catalogs on one database', () => {
  let second: FakeUpstream;
  let service: TestService;
  let customer: TestCustomer;
  let costlyApi: string;
  before(async () => {
    second = await new FakeUpstream().start();
    service = await startTestService({ workers: 0, env: { CATALOG: CATALOGS.cheap } });
    await release(service.env['DATABASE_URL'] as string, CATALOGS.costly);
    await service.startWorker();
    await service.startWorker({ CATALOG: CATALOGS.costly });
    costlyApi = (await service.startApi({ CATALOG: CATALOGS.costly })).baseUrl;
    customer = await service.createCustomer('studio');
  });
  after(async () => {
    await service.stop();
    await second.stop();
  });

  const findRuns = (uuids: string[]) =>
    service.sql(
      `SELECT g.uuid, g.credits_charged, g.upstream_model, -e.amount::int AS burned
         FROM generations g JOIN ledger_entries e ON e.generation_uuid = g.uuid AND e.entry_type = 'burn'
        WHERE g.uuid = ANY ($1)`,
      [uuids],
    );

  it('each generation is run by the catalog that priced it, whichever worker takes it', async () => {
    const expected = new Map<string, [number, string]>();
    for (let round = 0; round < 4; round += 1) {
      const [cheap, costly, large] = await Promise.all([
        createPoster(service.baseUrl, customer),
        createPoster(costlyApi, customer),
        createPoster(costlyApi, customer, { resolution: '2K' }),
      ]);
      expected.set(cheap.body.uuid, [10, 'acme/cheap']).set(costly.body.uuid, [30, 'acme/costly']);
      expected.set(large.body.uuid, [60, 'acme/costly']);
      for (const uuid of expected.keys()) expect((await customer.waitForEnd(uuid)).status).to.equal('succeeded');
    }
    for (const run of await findRuns([...expected.keys()])) {
      const [credits, upstreamModel] = expected.get(run.uuid) as [number, string];
      expect(run).to.include({ credits_charged: credits, burned: credits, upstream_model: upstreamModel });
    }
  });

  it('a worker runs generations of another catalog alone', async () => {
    for (const worker of service.workers.splice(0)) await worker.kill();
    await service.startWorker();
    const { body } = await createPoster(costlyApi, customer);
    expect((await customer.waitForEnd(body.uuid)).status).to.equal('succeeded');
    expect(await findRuns([body.uuid])).to.deep.equal([
      { uuid: body.uuid, credits_charged: 30, burned: 30, upstream_model: 'acme/costly' },
    ]);
  });

  it('a worker without the upstream of a catalog leaves its generations to another worker', async () => {
    await release(service.env['DATABASE_URL'] as string, CATALOGS.second);
    const upstreams = { second: { adapter: 'fal', base_url: second.url, key: 'test' } };
    const env = { CATALOG: CATALOGS.second, UPSTREAMS: JSON.stringify({ upstreams }) };
    const { baseUrl } = await service.startApi(env);
    const { status, body } = await createPoster(baseUrl, customer);
    expect(status).to.equal(201);
    await eventually('the first worker has seen it', async () => {
      const [row] = await service.sql(
        `SELECT next_attempt_at > created_at + interval '6 seconds' AS is_swept FROM generations WHERE uuid = $1`,
        [body.uuid],
      );
      return row.is_swept;
    });
    expect((await customer.request('GET', `/api/generations/${body.uuid}/`)).body.status).to.equal('queued');
    await service.startWorker(env);
    // The other worker takes some of its jobs, which the sweep then enqueues again.
    expect((await customer.waitForEnd(body.uuid, scaleTimeout(60_000))).status).to.equal('succeeded');
    expect(await findRuns([body.uuid])).to.deep.equal([
      { uuid: body.uuid, credits_charged: 5, burned: 5, upstream_model: 'acme/posters' },
    ]);
  }).timeout(scaleTimeout(120_000));

  it('an API with an older catalog warns with the number of the last release, and the newest one does not', async () => {
    await release(service.env['DATABASE_URL'] as string, CATALOGS.costly);
    const catalogs = await service.sql('SELECT id FROM catalog_releases ORDER BY released_at DESC LIMIT 1');
    const [older, newest] = [await service.startApi(), await service.startApi({ CATALOG: CATALOGS.costly })];
    for (const api of [older, newest]) expect((await fetch(`${api.baseUrl}/api/ready/`)).status).to.equal(200);
    await older.waitForLog('catalog is older than the last release');
    expect(older.logs()).to.match(new RegExp(`"newest":${catalogs[0].id},`));
    expect(newest.logs()).to.not.include('catalog is older');
    await Promise.all([older.stop(), newest.stop()]);
  });

  it('a removed model keeps its name and kind in lists, filters and usage', async () => {
    const body = { model: 'sketch-1', prompt: 'A sketch', params: {} };
    const created = await customer.createGeneration(body);
    expect(created.status).to.equal(201);
    await customer.waitForEnd(created.body.uuid);
    const elsewhere = customer.on(costlyApi);
    const get = (path: string) => elsewhere.request('GET', path);
    const shown = (await get(`/api/generations/${created.body.uuid}/`)).body;
    expect(shown).to.include({ model: 'sketch-1', model_name: 'Sketch model', kind: 'image', credits_charged: 2 });
    for (const query of ['model=sketch-1', 'status=succeeded', 'kind=image']) {
      const uuids = (await get(`/api/generations/?${query}`)).body.data.map(({ uuid }: { uuid: string }) => uuid);
      expect(uuids, query).to.include(created.body.uuid);
    }
    const { by_model: byModel } = (await get('/api/usage/summary/')).body;
    expect(byModel).to.deep.include({ model: 'Sketch model', credits: 2, count: 1 });
    const refused = await elsewhere.createGeneration(body);
    expect([refused.status, refused.body.detail]).to.deep.equal([400, 'model must be one of: poster-1.']);
  });
});

describe('a worker that runs generations of another catalog', () => {
  const upstreams = ['down:acme/posters', 'fal:acme/fallback'];
  const priced = (credits: number) =>
    JSON.stringify({ models: { 'poster-1': { ...poster(credits, 'fal:acme/first'), upstreams } } });
  let service: TestService;
  let customer: TestCustomer;
  before(async () => {
    const UPSTREAMS = JSON.stringify({
      upstreams: { down: { adapter: 'fal', base_url: 'http://127.0.0.1:9', key: 'test' } },
    });
    const env = { CATALOG: priced(10), UPSTREAMS, PROBE_INTERVAL_MS: '300' };
    service = await startTestService({ workers: 0, env });
    await release(service.env['DATABASE_URL'] as string, priced(20));
    await service.startWorker({ CATALOG: priced(20) });
    customer = await service.createCustomer('studio');
  });
  after(() => service.stop());

  it('uses the fallback of that catalog while the first choice is offline', async () => {
    await eventually('only the fallback is online', async () => {
      const rows = await service.sql('SELECT status FROM upstream_health ORDER BY position');
      return rows.map(({ status }) => status).join() === 'offline,online';
    });
    const { body } = await createPoster(service.baseUrl, customer);
    expect((await customer.waitForEnd(body.uuid)).status).to.equal('succeeded');
    expect(await service.sql('SELECT credits_charged, upstream, upstream_model FROM generations')).to.deep.equal([
      { credits_charged: 10, upstream: 'fal', upstream_model: 'acme/fallback' },
    ]);
  });

  it('leaves a generation of an unknown release alone, which fails at its deadline and is refunded', async () => {
    for (const worker of service.workers.splice(0)) await worker.kill();
    const readBalance = async () => (await service.sql('SELECT balance FROM accounts'))[0].balance;
    const balance = await readBalance();
    const { body } = await createPoster(service.baseUrl, customer);
    expect(await readBalance()).to.equal(balance - 10);
    await service.sql('DELETE FROM catalog_releases WHERE id = (SELECT catalog_id FROM generations WHERE uuid = $1)', [
      body.uuid,
    ]);
    await service.startWorker({ CATALOG: priced(20) });
    await service.moveClockTo(new Date(service.now.getTime() + GENERATION_DEADLINE_MS.image - 30_000));
    await eventually('the worker has seen it', async () => {
      const [row] = await service.sql(
        `SELECT next_attempt_at > created_at + interval '1 minute' AS is_swept FROM generations WHERE uuid = $1`,
        [body.uuid],
      );
      return row.is_swept;
    });
    expect((await customer.request('GET', `/api/generations/${body.uuid}/`)).body.status).to.equal('queued');
    await service.moveClockTo(new Date(service.now.getTime() + 30_000));
    expect((await customer.waitForEnd(body.uuid, 20_000)).status).to.equal('failed');
    expect(await readBalance()).to.equal(balance);
  });
});

describe('a catalog that was not released', () => {
  const service = useTestService({ env: { CATALOG: CATALOGS.cheap }, isReleased: false });
  let customer: TestCustomer;
  before(async () => {
    customer = await service.createCustomer();
  });

  it('makes the process not ready and creates fail without a charge, until it is released', async () => {
    const ready = await service.request('GET', '/api/ready/');
    expect(ready.status).to.equal(503);
    expect(ready.body.detail).to.include('the catalog is not released: run npm run release with this CATALOG');
    const refused = await createPoster(service.baseUrl, customer);
    expect(refused.status).to.equal(503);
    expect(refused.headers.get('retry-after')).to.equal('60');
    expect(refused.body.detail).to.include('no credits were charged');
    await release(service.env['DATABASE_URL'] as string, CATALOGS.cheap);
    await eventually('ready', async () => (await service.request('GET', '/api/ready/')).status === 200);
    const created = await createPoster(service.baseUrl, customer);
    expect([created.status, created.body.credits_charged]).to.deep.equal([201, 10]);
  });
});

describe('the release step', () => {
  let databaseUrl: string;
  before(async () => {
    databaseUrl = await createDatabase();
  });

  const expectRefusal = async (models: object, detail: string) => {
    const { status, output } = await runRelease(databaseUrl, { CATALOG: JSON.stringify({ models }) });
    expect([status, output.split('\n').findLast((line) => line !== '')]).to.deep.equal([78, detail]);
  };

  it('refuses a slug or a UUID that was released for another model, and accepts a removed model again', async () => {
    const uuid = 'b0000000-0000-4000-8000-000000000001';
    const model = { ...poster(10, 'fal:acme/cheap'), uuid };
    await release(databaseUrl, JSON.stringify({ models: { 'poster-1': model } }));
    await release(databaseUrl, JSON.stringify({ models: { 'sketch-1': sketch } }));
    await expectRefusal(
      { 'poster-1': { ...model, uuid: 'b0000000-0000-4000-8000-000000000002' } },
      `CATALOG/models/poster-1/uuid must be ${uuid}, because poster-1 was released with it: give the new model another slug.`,
    );
    await expectRefusal(
      { 'poster-1': { ...model, kind: 'video' } },
      'CATALOG/models/poster-1/kind must be image, because poster-1 was released so: give the new model another slug.',
    );
    await expectRefusal(
      { 'poster-2': model },
      'CATALOG/models/poster-2/uuid must be another one, because poster-1 was released with it.',
    );
    await expectRefusal(
      { 'imgmodel-2': { ...model, kind: 'video' } },
      'CATALOG/models/imgmodel-2/kind must be image, because imgmodel-2 was released so: give the new model another slug.',
    );
    await release(databaseUrl, JSON.stringify({ models: { 'poster-1': { ...model, name: 'Poster model, new' } } }));
  });

  it('exits with one sentence for an invalid catalog', async () => {
    await expectRefusal(
      { 'poster-1': poster(0, 'fal:a') },
      'CATALOG/models/poster-1/credits does not fit the parameters: no price for {"resolution":"1K","aspect_ratio":"1:1"}: the price must be a whole number from 1 to 1000000, not 0.',
    );
  });
});
