import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { type Env, getEnvError, parseEnv } from '../harness/upstreamParser.ts';
import {
  buildUpstreamInput,
  computeCostCents,
  findUpstreamRoute,
} from '../../shared/gateways/upstreams/upstreamConfig.ts';
import { listParams } from '../../shared/lib/catalog/paramValues.ts';
import type { GenerationParams, ModelDefinition } from '../../shared/spec/catalog.ts';
import { DEFAULT_MODELS } from '../../shared/spec/defaultModels.ts';
import { useFolder } from '../harness/useFolder.ts';

const SECRET = 'sk-do-not-print-5f1e';

const getRoutes = (model: string, env: Env) => parseEnv(env).routes[model] ?? [];

const only = (model: string, env: Env) => {
  const [route, ...more] = getRoutes(model, env);
  if (route === undefined || more.length > 0) throw new Error(`There are ${more.length} routes too many.`);
  return route;
};

const costs = (model: string, env: Env) =>
  allParams(model).map((params) => computeCostCents(only(model, env), { prompt: 'a prompt', ...params }));

describe('the upstreams of the configuration', () => {
  const folder = useFolder();

  describe('by default', () => {
    it('are fal, with one route to each model', () => {
      const { upstreams, routes } = parseEnv({ FAL_KEY: 'k' });
      expect(upstreams.get('fal')).to.deep.equal({
        name: 'fal',
        adapter: 'fal',
        baseUrl: 'https://queue.fal.run',
        key: 'k',
        concurrency: null,
        perMinute: null,
        isLocal: false,
        acceptsForm: false,
      });
      const ways = Object.entries(routes).map(([model, [way, ...more]]) => [
        model,
        way?.kind,
        `${way?.upstream.name}:${way?.modelId}`,
        more.length,
      ]);
      expect(ways).to.deep.equal([
        ['vidmodel-video', 'video', 'fal:fal-ai/bytedance/seedance/v1.5/pro/text-to-video', 0],
        ['imgmodel-2', 'image', 'fal:fal-ai/nano-banana-2', 0],
      ]);
    });

    it('have no key if none is set', () => {
      const keys = [...parseEnv({}).upstreams.values()].map(({ name, key }) => [name, key]);
      expect(keys).to.deep.equal([
        ['fal', null],
        ['openai', null],
        ['replicate', null],
      ]);
    });

    const videoCents: Record<string, number> = {
      '5 720p true 16:9': 25.92,
      '5 720p false 16:9': 12.96,
      '5 720p true 9:16': 25.92,
      '5 720p false 9:16': 12.96,
      '5 1080p true 16:9': 58.32,
      '5 1080p false 16:9': 29.16,
      '5 1080p true 9:16': 58.32,
      '5 1080p false 9:16': 29.16,
      '10 720p true 16:9': 51.84,
      '10 720p false 16:9': 25.92,
      '10 720p true 9:16': 51.84,
      '10 720p false 9:16': 25.92,
      '10 1080p true 16:9': 116.64,
      '10 1080p false 16:9': 58.32,
      '10 1080p true 9:16': 116.64,
      '10 1080p false 9:16': 58.32,
    };
    it('have the price of every video, in cents', () => {
      const params = allParams('vidmodel-video').map(named);
      const found = Object.fromEntries(params.map((name, index) => [name, costs('vidmodel-video', {})[index]]));
      expect(found).to.deep.equal(videoCents);
    });

    const imageCents: Record<string, number> = {
      '1K 16:9': 8,
      '1K 1:1': 8,
      '1K 9:16': 8,
      '2K 16:9': 12,
      '2K 1:1': 12,
      '2K 9:16': 12,
      '4K 16:9': 16,
      '4K 1:1': 16,
      '4K 9:16': 16,
    };
    it('have the price of every image, in cents', () => {
      const params = allParams('imgmodel-2').map(named);
      const found = Object.fromEntries(params.map((name, index) => [name, costs('imgmodel-2', {})[index]]));
      expect(found).to.deep.equal(imageCents);
    });

    it('have no price for an unknown model', () => {
      const env = { IMAGE_UPSTREAM: 'replicate:owner/name' };
      expect(new Set(costs('imgmodel-2', env))).to.deep.equal(new Set([null]));
    });
  });

  describe('from variables', () => {
    it('become the first choice and the fallback, in that order', () => {
      const routes = getRoutes('vidmodel-video', {
        VIDEO_UPSTREAM: 'replicate:bytedance/seedance-1-pro:9dcd6d',
        VIDEO_UPSTREAM_FALLBACK: 'fal:fal-ai/veo3',
      });
      const ways = routes.map(({ upstream, modelId, model, kind }) => [upstream.name, modelId, model, kind]);
      expect(ways).to.deep.equal([
        ['replicate', 'bytedance/seedance-1-pro:9dcd6d', 'vidmodel-video', 'video'],
        ['fal', 'fal-ai/veo3', 'vidmodel-video', 'video'],
      ]);
    });

    it('have their addresses without trailing slashes, and their keys', () => {
      const { upstreams } = parseEnv({
        FAL_BASE_URL: 'http://127.0.0.1:1//',
        OPENAI_BASE_URL: 'http://gateway/v1/',
        OPENAI_API_KEY: 'o',
        REPLICATE_BASE_URL: 'http://replica/v1',
        REPLICATE_API_TOKEN: 'r',
      });
      const found = [...upstreams.values()].map(({ name, adapter, baseUrl, key }) => [name, adapter, baseUrl, key]);
      expect(found).to.deep.equal([
        ['fal', 'fal', 'http://127.0.0.1:1', null],
        ['openai', 'openai', 'http://gateway/v1', 'o'],
        ['replicate', 'replicate', 'http://replica/v1', 'r'],
      ]);
    });

    it('build a valid input for all params, also for an unknown model', () => {
      const replicate = only('vidmodel-video', { VIDEO_UPSTREAM: 'replicate:owner/name' });
      const video = { prompt: 'a', duration: 10, resolution: '1080p', audio: true, aspect_ratio: '9:16' } as const;
      expect(buildUpstreamInput(replicate, video)).to.deep.equal({
        prompt: 'a',
        duration: 10,
        resolution: '1080p',
        aspect_ratio: '9:16',
        generate_audio: true,
      });
      const openai = only('imgmodel-2', { IMAGE_UPSTREAM: 'openai:gpt-image-9' });
      const image = { prompt: 'a', resolution: '2K', aspect_ratio: '16:9' } as const;
      expect(buildUpstreamInput(openai, image)).to.deep.equal({ prompt: 'a', n: 1, size: '2752x1536' });
      const largest = { ...image, resolution: '4K' } as const;
      expect(buildUpstreamInput(openai, largest)).to.include({ size: '3840x2160' });
    });

    for (const name of [
      'VIDEO_UPSTREAM',
      'VIDEO_UPSTREAM_FALLBACK',
      'IMAGE_UPSTREAM',
      'IMAGE_UPSTREAM_FALLBACK',
    ] as const) {
      it(`are rejected with a message that names ${name} if the upstream does not exist`, () => {
        expect(getEnvError({ [name]: 'missing:model' })).to.equal(
          `${name} must begin with the name of an upstream (fal, openai, replicate) and a colon.`,
        );
      });

      for (const value of ['fal-ai/nano-banana-2', 'fal:', ':model', 'FAL:model', 'fal:a model']) {
        it(`are rejected with a message that names ${name} if it is "${value}"`, () => {
          expect(getEnvError({ [name]: value })).to.match(new RegExp(`^${name} must be .+\\.$`));
        });
      }
    }
  });

  describe('from UPSTREAMS', () => {
    const gateway = { adapter: 'openai', base_url: 'https://gateway.example/v1/', key: SECRET };

    it('include a second gateway of the same protocol under its own name', () => {
      const upstreams = JSON.stringify({
        upstreams: { 'my-gateway': { ...gateway, concurrency: 8, per_minute: 30, local: true, form: true } },
      });
      const directory = parseEnv({ UPSTREAMS: upstreams, IMAGE_UPSTREAM: 'my-gateway:gpt-image', OPENAI_API_KEY: 'o' });
      expect(directory.routes['imgmodel-2']?.[0]?.upstream).to.deep.equal({
        name: 'my-gateway',
        adapter: 'openai',
        baseUrl: 'https://gateway.example/v1',
        key: SECRET,
        concurrency: 8,
        perMinute: 30,
        isLocal: true,
        acceptsForm: true,
      });
      expect(directory.upstreams.get('openai')).to.include({ baseUrl: 'https://api.openai.com/v1', key: 'o' });
    });

    it('are listed in the error if a variable names none of them, new ones included', () => {
      const UPSTREAMS = JSON.stringify({ upstreams: { 'my-gateway': gateway } });
      expect(getEnvError({ UPSTREAMS, IMAGE_UPSTREAM: 'other:model' })).to.equal(
        'IMAGE_UPSTREAM must begin with the name of an upstream (fal, openai, replicate, my-gateway) and a colon.',
      );
    });

    it('change only the fields that it sets', () => {
      const UPSTREAMS = JSON.stringify({ upstreams: { fal: { per_minute: 10 } } });
      const fal = parseEnv({ UPSTREAMS, FAL_KEY: 'k', FAL_BASE_URL: 'http://127.0.0.1:1' }).upstreams.get('fal');
      expect(fal).to.deep.include({ adapter: 'fal', baseUrl: 'http://127.0.0.1:1', key: 'k', perMinute: 10 });
    });

    it('take precedence over the variables', () => {
      const UPSTREAMS = JSON.stringify({ upstreams: { replicate: { base_url: 'http://proxy/v1', key: 'p' } } });
      const replicate = parseEnv({ UPSTREAMS, REPLICATE_API_TOKEN: 'r' }).upstreams.get('replicate');
      expect(replicate).to.include({ baseUrl: 'http://proxy/v1', key: 'p' });
    });

    it('are read from the file that it names', async () => {
      const file = join(folder, 'upstreams.json');
      await writeFile(file, `\n${JSON.stringify({ upstreams: { 'my-gateway': gateway } }, null, 2)}\n`);
      expect(parseEnv({ UPSTREAMS: file }).upstreams.get('my-gateway')).to.include({ key: SECRET });
    });

    it('can refer to variables, whose values are inserted unchanged', async () => {
      const MY_KEY = 'quote " backslash \\ ${FAL_KEY} end';
      const text =
        '{ "upstreams": { "mine": { "adapter": "openai", "base_url": "https://${MY_HOST}/v1", "key": "${MY_KEY}" } } }';
      const file = join(folder, 'variables.json');
      await writeFile(file, text);
      for (const UPSTREAMS of [text, file]) {
        const mine = parseEnv({ UPSTREAMS, MY_KEY, MY_HOST: 'a.example', FAL_KEY: 'k' }).upstreams.get('mine');
        expect(mine).to.include({ key: MY_KEY, baseUrl: 'https://a.example/v1' });
      }
    });

    for (const env of [{}, { MY_KEY: '' }, { MY_KEY: '  ' }] as Env[]) {
      it(`are rejected if it refers to a variable that is not set: ${JSON.stringify(env)}`, () => {
        const UPSTREAMS = '{ "upstreams": { "fal": { "key": "${MY_KEY}" } } }';
        expect(getEnvError({ UPSTREAMS, ...env })).to.equal('MY_KEY is not set, but UPSTREAMS refers to it.');
      });
    }

    it('override input and prices of a preset, and keep its other fields', () => {
      const model = 'fal:fal-ai/nano-banana-2';
      const prices = { cents: { $by: 'resolution', '1K': 6.5, '2K': 9, '4K': 13 } };
      const cheaper = JSON.stringify({ models: { [model]: prices } });
      expect(costs('imgmodel-2', { UPSTREAMS: cheaper })).to.deep.equal([6.5, 6.5, 6.5, 9, 9, 9, 13, 13, 13]);
      const order = { prompt: 'a', resolution: '1K', aspect_ratio: '1:1' } as const;
      expect(buildUpstreamInput(only('imgmodel-2', { UPSTREAMS: cheaper }), order)).to.deep.equal(order);
      const input = { text: '$prompt', size: '{resolution}', format: 'png' };
      const other = only('imgmodel-2', { UPSTREAMS: JSON.stringify({ models: { [model]: { input } } }) });
      expect(buildUpstreamInput(other, order)).to.deep.equal({ text: 'a', size: '1K', format: 'png' });
      expect(computeCostCents(other, order)).to.equal(8);
    });

    it('compute prices by run, by second, or both, with four decimals', () => {
      const VIDEO_UPSTREAM = 'replicate:owner/name';
      const table = { cents: 0.33333, cents_per_second: { $by: 'audio', true: 0.2, false: 0.1 } };
      const UPSTREAMS = JSON.stringify({ models: { [VIDEO_UPSTREAM]: table } });
      const loud = { prompt: 'a', duration: 10, resolution: '720p', audio: true, aspect_ratio: '16:9' } as const;
      const route = only('vidmodel-video', { VIDEO_UPSTREAM, UPSTREAMS });
      expect(computeCostCents(route, loud)).to.equal(2.3333);
      expect(computeCostCents(route, { ...loud, duration: 5, audio: false })).to.equal(0.8333);
      expect(() => computeCostCents(route, { ...loud, duration: '5s' })).to.throw('"duration", a number');
    });

    it('use a preset for every gateway of its protocol, and an override for one gateway only', () => {
      const models = { 'mirror:fal-ai/nano-banana-2': { cents: 1 } };
      const mirror = { adapter: 'fal', base_url: 'https://mirror.example' };
      const UPSTREAMS = JSON.stringify({ upstreams: { mirror, second: mirror }, models });
      const cents = (name: string) =>
        costs('imgmodel-2', { UPSTREAMS, IMAGE_UPSTREAM: `${name}:fal-ai/nano-banana-2` });
      expect([cents('mirror')[0], cents('second')[0], cents('fal')[0]]).to.deep.equal([1, 8, 8]);
    });

    it('provide a route to a model that no variable names any more, for generations submitted before', () => {
      const directory = parseEnv({ REPLICATE_API_TOKEN: 'r' });
      const imageModel = { slug: 'imgmodel-2', kind: 'image' } as const;
      const route = findUpstreamRoute(imageModel, 'replicate', 'owner/old', directory);
      expect(route).to.deep.include({ model: 'imgmodel-2', kind: 'image', modelId: 'owner/old' });
      expect(route?.upstream.key).to.equal('r');
      expect(findUpstreamRoute(imageModel, 'removed', 'owner/old', directory)).to.equal(undefined);
    });
  });
});

const allParams = (slug: string) => listParams(DEFAULT_MODELS[slug] as ModelDefinition);

function named(params: GenerationParams): string {
  return Object.values(params).join(' ');
}
