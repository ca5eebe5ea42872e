import { expect } from 'chai';
import { parseCatalog } from '../../shared/lib/catalog/catalog.ts';
import { ConfigError, parseConfig } from '../../shared/lib/config.ts';
import { buildImageVariables } from '../../shared/gateways/upstreams/imageFields.ts';
import {
  buildUpstreamInput,
  parseUpstreams,
  type UpstreamRoute,
} from '../../shared/gateways/upstreams/upstreamConfig.ts';
import { buildImageCatalog } from '../harness/inputImages.ts';

const VIDEO = { prompt: 'p', duration: 5, resolution: '720p', audio: false, aspect_ratio: '16:9' };
const IMAGE = { prompt: 'p', resolution: '1K', aspect_ratio: '1:1' };

function parse(catalog: string, upstreams: object = {}): Record<string, UpstreamRoute[]> {
  const settings = parseConfig({
    DATABASE_URL: 'postgres://user@host/name',
    REDIS_URL: 'redis://host:6379',
    CATALOG: catalog,
    UPSTREAMS: JSON.stringify(upstreams),
  });
  return parseUpstreams(settings, parseCatalog(settings)).routes;
}

function buildInput(
  [route]: UpstreamRoute[],
  images: { role: 'first_frame' | 'last_frame' | 'reference'; url: string }[],
) {
  const { inputs, kind } = route as UpstreamRoute;
  const params = kind === 'video' ? VIDEO : IMAGE;
  return buildUpstreamInput(route as UpstreamRoute, { ...params, ...buildImageVariables(inputs, images) });
}

const FIRST = { role: 'first_frame', url: 'https://x/first' } as const;
const LAST = { role: 'last_frame', url: 'https://x/last' } as const;
const ONE = { role: 'reference', url: 'https://x/1' } as const;
const TWO = { role: 'reference', url: 'https://x/2' } as const;

describe('images in the input of an upstream', () => {
  for (const [adapter, video, image, first, references] of [
    [
      'fal',
      'fal:any/video',
      'fal:any/image',
      { image_url: FIRST.url, end_image_url: LAST.url },
      { image_urls: [ONE.url, TWO.url] },
    ],
    [
      'Replicate',
      'replicate:any/video',
      'replicate:any/image',
      { image: FIRST.url, last_frame_image: LAST.url },
      { image_input: [ONE.url, TWO.url] },
    ],
  ] as const) {
    it(`have the usual fields of ${adapter}, and are left out without an image`, () => {
      const routes = parse(buildImageCatalog({ video, image }));
      expect(buildInput(routes['animate']!, [FIRST, LAST])).to.include(first);
      const [lastField] = Object.keys(first).slice(-1);
      expect(buildInput(routes['animate']!, [FIRST])).to.not.have.property(lastField as string);
      expect(buildInput(routes['edit']!, [ONE, TWO])).to.deep.include(references);
      expect(buildInput(routes['edit']!, [])).to.not.have.any.keys(...Object.keys(references));
    });
  }

  it('follow the template of UPSTREAMS', () => {
    const input = { text: '$prompt', frames: { start: '$first_frame', end: '$last_frame' }, refs: '$reference' };
    const models = {
      'fal:own/video': { input },
      'fal:own/image': { input: { text: '$prompt', refs: '$reference', mask: '$mask' } },
    };
    const routes = parse(buildImageCatalog({ video: 'fal:own/video', image: 'fal:own/image' }), {
      models: { ...models, 'fal:own/video': { input: { text: '$prompt', frames: input.frames } } },
    });
    expect(buildInput(routes['animate']!, [FIRST])).to.deep.equal({ text: 'p', frames: { start: FIRST.url } });
    expect(buildInput(routes['edit']!, [ONE])).to.deep.equal({ text: 'p', refs: [ONE.url] });
  });

  it('have a field for each reference where the template names each', () => {
    const input = { text: '$prompt', one: '$reference_1', two: '$reference_2', three: '$reference_3', mask: '$mask' };
    const catalog = buildImageCatalog({ image: 'fal:own/image' });
    const routes = parse(catalog, { models: { 'fal:own/image': { input } } });
    expect(buildInput(routes['edit']!, [ONE, TWO])).to.deep.equal({ text: 'p', one: ONE.url, two: TWO.url });
    const { three: _three, ...short } = input;
    expect(() => parse(catalog, { models: { 'fal:own/image': { input: short } } })).to.throw(
      ConfigError,
      'CATALOG/models/edit/inputs/images is not used: UPSTREAMS/models/fal:own/image/input must contain "$reference_3".',
    );
  });

  it('must fit the input if there are as few as a request may have', () => {
    const catalog = JSON.parse(buildImageCatalog({ image: 'gpu:own' })) as { models: { edit: { inputs: object } } };
    const refs = { all: '$reference', second: '{reference_2}' };
    const input = { text: '$prompt', mask: '$mask' };
    const ifAny = { $by: 'with_images', true: { ...input, ...refs }, false: input };
    const parseEdit = (edit: object) =>
      parse(JSON.stringify(catalog), {
        upstreams: { gpu: { adapter: 'http', provider: 'diffusers' } },
        models: { 'gpu:own': { input: edit } },
      });
    const problem = /"reference_2" may be absent, so it cannot be part of a text/;
    expect(() => parseEdit(ifAny)).to.throw(ConfigError, problem);
    catalog.models.edit.inputs = { images: { role: 'reference', max: 3, required: true } };
    expect(() => parseEdit({ ...input, ...refs, mask: null })).to.throw(ConfigError, problem);
    expect(parseEdit({ ...input, all: '$reference', second: '$reference_2', mask: null })).to.have.property('edit');
  });

  it('must be used by every route of the model', () => {
    const catalog = buildImageCatalog({ video: 'fal:own/video' });
    const settings = { models: { 'fal:own/video': { input: { text: '$prompt', start: '$first_frame' } } } };
    expect(() => parse(catalog, settings)).to.throw(
      ConfigError,
      'CATALOG/models/animate/inputs/end is not used: UPSTREAMS/models/fal:own/video/input must contain "$last_frame".',
    );
    expect(() => parse(buildImageCatalog({ video: 'openai:sora-2' }))).to.throw(
      ConfigError,
      'CATALOG/models/animate/inputs/end is not used: UPSTREAMS/models/openai:sora-2/input must contain "$last_frame".',
    );
  });
});
