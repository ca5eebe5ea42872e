import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { newTempFile } from '../../shared/gateways/media/tempFiles.ts';
import {
  buildUpstreamInput,
  findUpstreamRoute,
  getUpstream,
  type UpstreamRoute,
} from '../../shared/gateways/upstreams/index.ts';
import { PROVIDERS } from '../../shared/gateways/upstreams/providers/index.ts';
import { getModelBySlug } from '../../shared/lib/catalog/catalog.ts';
import { listParams } from '../../shared/lib/catalog/paramValues.ts';
import { MODEL_KINDS } from '../../shared/spec/catalog.ts';
import { MP4, PNG } from '../fakes/misbehave.ts';
import { PROVIDER_CASES } from '../fakes/providers/index.ts';
import type { ProviderCase } from '../fakes/providers/providerFake.ts';
import type { TestCustomer } from '../harness/apiClient.ts';
import { makeImage, upload } from '../harness/inputImages.ts';
import { startTestService, type TestService } from '../harness/testService.ts';
import { captureUpstreamError, getHandle } from '../harness/upstreamAdapter.ts';
import { postponePolls, waitForStoredEnd } from '../harness/upstreamCallbacks.ts';

const NOT_ALLOWED = "The model's content policy does not allow this. Please change the prompt and try again.";
const CALLBACK_FIELDS = /^https?:.*\/upstream-events\//;

/** The provider whose outages are tested with the whole service, which treats all providers alike. */
const WHOLE = PROVIDER_CASES.find(({ failure }) => failure !== undefined);

const getSlug = ({ provider, kind }: ProviderCase) => `${provider}-${kind}`;
/** Fakes of all providers, each of which may make images and videos. */
const FAKES = [...new Set(PROVIDER_CASES.map(({ fake }) => fake))];

function addDefaults(params: Record<string, object>): Record<string, object> {
  const entries = Object.entries(params as Record<string, { enum?: unknown[] }>);
  return Object.fromEntries(entries.map(([name, param]) => [name, { default: param.enum?.[0], ...param }]));
}

/** A model for each provider and kind, and those with images. */
function buildCatalog(): string {
  const models = PROVIDER_CASES.flatMap((provided) => {
    const { provider, kind, model, params, references, frames, images = [] } = provided;
    const slug = getSlug(provided);
    const made = {
      name: provider,
      kind,
      description: `A model of ${provider}.`,
      upstreams: [`${provider}:${model}`],
      params: addDefaults(params),
      credits: 3,
    };
    const editedBy = [`${provider}:${references?.model ?? model}`];
    const edit = { images: { role: 'reference', max: references?.max } };
    const ends = Object.fromEntries((frames?.roles ?? []).map((role) => [role, { role, required: true }]));
    return [
      [slug, made],
      ...(references === undefined ? [] : [[`${slug}-edit`, { ...made, upstreams: editedBy, inputs: edit }]]),
      ...(frames === undefined ? [] : [[`${slug}-frames`, { ...made, inputs: ends }]]),
      ...images.map((one, index) => [
        `${slug}-images-${index}`,
        {
          ...made,
          upstreams: [`${provider}:${one.model ?? model}`],
          params: addDefaults(one.params ?? params),
          inputs: one.inputs,
        },
      ]),
    ];
  });
  return JSON.stringify({ models: Object.fromEntries(models) });
}

describe('the providers whose descriptions come with the service', () => {
  let service: TestService;
  let customer: TestCustomer;
  before(async () => {
    await Promise.all(FAKES.map((fake) => fake.start()));
    const upstreams = PROVIDER_CASES.map(({ provider, fake, basePath, settings }) => [
      provider,
      {
        adapter: 'http',
        provider,
        base_url: `${fake.url}${basePath}`,
        key: fake.key,
        local: true,
        ...(PROVIDER_CASES.some((one) => one.provider === provider && one.callBack !== undefined)
          ? { callbacks: true }
          : {}),
        ...settings,
      },
    ]);
    const models = PROVIDER_CASES.flatMap(({ provider, models = {} }) =>
      Object.entries(models).map(([model, settings]) => [`${provider}:${model}`, settings]),
    );
    service = await startTestService({
      env: {
        CATALOG: buildCatalog(),
        UPSTREAMS: JSON.stringify({ upstreams: Object.fromEntries(upstreams), models: Object.fromEntries(models) }),
      },
    });
    customer = await service.createCustomer('studio');
  });
  after(async () => {
    await service.stop();
    await Promise.all(FAKES.map((fake) => fake.stop()));
  });

  it('are all tested here', () => {
    const tested = PROVIDER_CASES.map(({ provider, kind }) => `${provider} ${kind}`);
    const described = Object.entries(PROVIDERS).flatMap(([name, { protocol }]) =>
      MODEL_KINDS.filter((kind) => protocol[kind] !== undefined).map((kind) => `${name} ${kind}`),
    );
    expect(tested).to.have.members(described);
  });

  for (const provided of PROVIDER_CASES) {
    const { provider, fake, kind, model, body, cents, failure, callBack, references, frames, cancels } = provided;
    const slug = getSlug(provided);
    const create = async (params: object = {}, used = slug) => {
      const prompt = `a "lighthouse" ${randomUUID()}`;
      const { status, body: created } = await customer.createGeneration({ model: used, params, prompt });
      expect(status, JSON.stringify(created)).to.equal(201);
      return { uuid: created.uuid as string, prompt };
    };
    const getRoute = () => findUpstreamRoute(getModelBySlug(slug), provider, model) as UpstreamRoute;
    const listInputs = () => listParams(getModelBySlug(slug).definition);
    const submit = (params = listInputs()[0]) =>
      getUpstream(getRoute()).submit({
        generationId: randomUUID(),
        input: buildUpstreamInput(getRoute(), { prompt: 'a lighthouse', ...params }),
        deadlineAt: new Date(Date.now() + 60_000),
        newFile: newTempFile,
      });
    const withoutCallback = (input: object) =>
      Object.fromEntries(
        Object.entries(input).filter(
          ([, value]) =>
            !CALLBACK_FIELDS.test(String(value)) && !Object.values(provided.settings ?? {}).includes(value),
        ),
      );
    describe(slug, () => {
      beforeEach(() => fake.reset());
      afterEach(() => expect(fake.refusals, 'requests that the documentation does not allow').to.deep.equal([]));

      it('makes an output with one request as documented, and its price is recorded', async () => {
        const { uuid, prompt } = await create();
        const ended = await customer.waitForEnd(uuid);
        expect(ended).to.include({ status: 'succeeded', error_message: null });
        const output = Buffer.from(await (await fetch(ended.output_url)).arrayBuffer());
        expect(output).to.deep.equal(kind === 'image' ? PNG : MP4);
        expect(fake.jobs.map(({ input }) => withoutCallback(input))).to.deep.equal([
          body(prompt, fake.jobs[0]?.input ?? {}),
        ]);
        const sql = 'SELECT cast(provider_cost_cents AS float) AS cents FROM generations WHERE uuid = $1';
        expect((await service.sql(sql, [uuid]))[0]).to.deep.equal({ cents: cents ?? null });
      });

      it('accepts every value of the parameters', async () => {
        for (const params of listInputs()) {
          const { state } = await submit(params);
          expect(state, JSON.stringify(params)).to.be.oneOf(['accepted', 'succeeded']);
        }
      });

      if (provided.hasNoPolicy !== true)
        it('refunds a prompt, and an output, that its content policy does not allow', async () => {
          const balance = await customer.balance();
          fake.rejectsPrompts = true;
          const prompt = await create();
          expect(await customer.waitForEnd(prompt.uuid)).to.include({ status: 'failed', error_message: NOT_ALLOWED });
          fake.rejectsPrompts = false;
          fake.outcome = 'policy';
          const output = await create();
          expect(await customer.waitForEnd(output.uuid)).to.include({ status: 'failed', error_message: NOT_ALLOWED });
          expect(await customer.balance()).to.equal(balance);
        });

      it('is unavailable while it is busy, for as long as it says, and makes no job', async () => {
        fake.faults.submit = { status: 429, headers: { 'retry-after': '1' }, body: {} };
        const error = await captureUpstreamError(submit());
        expect(error).to.include({ fault: 'unavailable', isAccountError: false, retryAfterMs: 1_000 });
        expect(fake.jobs).to.have.length(0);
      });

      if (provided === WHOLE)
        it('is submitted to again while it is busy, polled through an outage, and makes one job', async () => {
          fake.faults.submit = { status: 429, headers: { 'retry-after': '1' }, body: {} };
          fake.outcome = 'wait';
          const { uuid } = await create();
          while (fake.calls.length < 2) await new Promise((resolve) => setTimeout(resolve, 50));
          fake.faults = { status: 503, result: 503 };
          while (fake.jobs.length === 0) await new Promise((resolve) => setTimeout(resolve, 50));
          await customer.readGeneration(uuid);
          fake.end('succeeded');
          fake.faults = {};
          expect(await customer.waitForEnd(uuid)).to.include({ status: 'succeeded' });
          expect(fake.jobs).to.have.length(1);
        });

      it('is probed with its key', async () => {
        const route = getRoute();
        await getUpstream(route).probe();
        const wrong = { ...route, upstream: { ...route.upstream, name: `${provider}-wrong`, key: 'wrong' } };
        const error = await captureUpstreamError(getUpstream(wrong).probe());
        expect(error).to.include({ isAccountError: true });
      });

      if (failure !== undefined) {
        it('refunds a run that failed, with the reason of the provider', async () => {
          const balance = await customer.balance();
          fake.outcome = 'failed';
          const { uuid } = await create();
          expect(await customer.waitForEnd(uuid)).to.include({ status: 'failed', error_message: failure });
          expect(await customer.balance()).to.equal(balance);
        });

        it('is polled again after an outage', async () => {
          fake.outcome = 'wait';
          const handle = getHandle(await submit());
          fake.faults = { status: 503, result: 503 };
          fake.end('succeeded');
          const error = await captureUpstreamError(getUpstream(getRoute()).poll(handle));
          expect(error).to.include({ fault: 'unavailable', hasResponse: true });
          fake.faults = {};
          expect(await getUpstream(getRoute()).poll(handle)).to.include({ state: 'succeeded' });
        });
      }

      if (callBack !== undefined) {
        it('calls when a run has ended, so that it is found at once', async () => {
          fake.outcome = 'wait';
          const { uuid } = await create();
          await postponePolls(service, uuid);
          fake.end('succeeded');
          const [job] = fake.jobs;
          expect((await callBack(job!)).status).to.equal(204);
          expect(await waitForStoredEnd(service, uuid, 30_000)).to.equal('succeeded');
        });
      }

      if (references !== undefined) {
        it('takes reference images', async () => {
          const names = [
            await upload(customer, await makeImage()),
            await upload(customer, await makeImage('png', { background: 'red' })),
          ];
          // A parameter for one image takes its name, others a list.
          const images = references.max === 1 ? names[0] : names;
          const { uuid } = await create({ images }, `${slug}-edit`);
          expect(await customer.waitForEnd(uuid)).to.include({ status: 'succeeded' });
          const input = fake.jobs[0]?.input ?? {};
          const given = references.fields.filter((field) => input[field] !== undefined);
          expect(given).to.deep.equal(references.fields);
        });
      }

      if (frames !== undefined) {
        it('takes frames', async () => {
          const names = frames.roles.map(async (role) => [role, await upload(customer, await makeImage())] as const);
          const { uuid } = await create(Object.fromEntries(await Promise.all(names)), `${slug}-frames`);
          expect(await customer.waitForEnd(uuid)).to.include({ status: 'succeeded', error_message: null });
          const found = frames.read(fake.jobs[0]?.input ?? {});
          expect(found).to.have.length(frames.roles.length);
          for (const frame of found) expect(frame).to.match(/^(?:https?:|data:image\/)/);
        });
      }

      for (const [index, { inputs, read, expected }] of (provided.images ?? []).entries()) {
        it(`takes images as ${Object.keys(inputs).join(' and ')}`, async () => {
          const params: Record<string, unknown> = {};
          for (const [param, { max = 1 }] of Object.entries(inputs)) {
            const first = await upload(customer, await makeImage());
            const second = await makeImage('png', { background: 'red' });
            params[param] = max === 1 ? first : [first, await upload(customer, second)];
          }
          const { uuid } = await create(params, `${slug}-images-${index}`);
          expect(await customer.waitForEnd(uuid)).to.include({ status: 'succeeded' });
          expect(read(fake.jobs[0]?.input ?? {})).to.deep.equal(expected);
        });
      }

      if (cancels !== undefined) {
        it('removes a run that waits from the queue for its owner', async () => {
          fake.outcome = 'wait';
          fake.waitsAs = 'queued';
          const { uuid } = await create();
          while (fake.jobs.length === 0) await new Promise((resolve) => setTimeout(resolve, 50));
          const balance = await customer.balance();
          await customer.request('POST', `/api/generations/${uuid}/cancel/`);
          expect(await customer.waitForEnd(uuid)).to.include({ status: 'failed' });
          expect(fake.canceled).to.deep.equal(fake.jobs.map(({ id }) => id));
          expect(await customer.balance()).to.be.greaterThan(balance);
        });
      }
    });
  }
});
