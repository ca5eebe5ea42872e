import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { buildUpstreamInput } from '../../shared/gateways/upstreams/upstreamConfig.ts';
import { openaiUpstream } from '../../shared/gateways/upstreams/openai.ts';
import type { UpstreamRoute } from '../../shared/gateways/upstreams/upstreamConfig.ts';
import { FakeUpstream } from '../fakes/fakeUpstream.ts';
import { buildSubmission, useServers } from '../harness/upstreamAdapter.ts';
import { parseEnv } from '../harness/upstreamParser.ts';

const PROMPT = { prompt: 'a lighthouse' };
const GPT = { ...PROMPT, model: 'gpt-image-2' };
const EDIT = '/fal-ai/nano-banana-2/edit';
const ANIMATION = '/fal-ai/bytedance/seedance/v1.5/pro/image-to-video';
const PREDICTIONS = '/v1/models/owner/name/predictions';
const CALLBACK = encodeURIComponent('https://hooks.example/upstream-events/x');

type Case = [what: string, path: string, body: object, headers?: Record<string, string>];

const ACCEPTED: Case[] = [
  ['an image of OpenAI', '/v1/images/generations', { ...GPT, n: 1, size: '2160x3840', quality: 'high' }],
  ['an image of a gateway', '/v1/images/generations', { ...PROMPT, model: 'sample', size: '4096x4096', steps: 4 }],
  ['a request of fal', `${EDIT}?fal_webhook=${CALLBACK}`, { ...PROMPT, image_urls: ['https://a.example/a.png'] }],
  ['a prediction', PREDICTIONS, { input: PROMPT, webhook: 'https://a.example', webhook_events_filter: ['completed'] }],
  ['a prediction that waits', PREDICTIONS, { input: PROMPT }, { prefer: 'wait=60', 'cancel-after': '1h30m' }],
];

const REJECTED: Case[] = [
  ['sides that are not divisible by 16', '/v1/images/generations', { ...GPT, size: '1920x1080' }],
  ['more pixels than 4K', '/v1/images/generations', { ...GPT, size: '4096x4096' }],
  ['a ratio above 3:1', '/v1/images/generations', { ...GPT, size: '3840x1024' }],
  [
    'a size of gpt-image-2 at gpt-image-1',
    '/v1/images/generations',
    { ...GPT, model: 'gpt-image-1', size: '2048x2048' },
  ],
  ['an unknown quality', '/v1/images/generations', { ...GPT, quality: 'best' }],
  ['an unknown field', '/v1/images/generations', { ...GPT, aspect_ratio: '16:9' }],
  ['a field of other models', '/v1/images/generations', { ...GPT, response_format: 'url' }],
  ['no model input', PREDICTIONS, {}],
  ['an unknown field of a prediction', PREDICTIONS, { input: PROMPT, webhook_events: [] }],
  ['an unknown event', PREDICTIONS, { input: PROMPT, webhook_events_filter: ['done'] }],
  ['a webhook without an address', PREDICTIONS, { input: PROMPT, webhook: '/upstream-events/x' }],
  ['a preference that Replicate does not have', PREDICTIONS, { input: PROMPT }, { prefer: 'respond-async' }],
  ['a lifetime below 5 seconds', PREDICTIONS, { input: PROMPT }, { 'cancel-after': '4s' }],
  ['a lifetime without a unit', PREDICTIONS, { input: PROMPT }, { 'cancel-after': 'soon' }],
  ['a body that is no JSON', PREDICTIONS, { input: PROMPT }, { 'content-type': 'text/plain' }],
  ['a request of fal that is no JSON', EDIT, { ...PROMPT, image_urls: [] }, { 'content-type': 'text/plain' }],
  ['an edit without images', EDIT, PROMPT],
  ['an animation without an image', ANIMATION, { ...PROMPT, duration: '5' }],
  ['a duration that is a number', ANIMATION, { ...PROMPT, image_url: 'https://a.example/a.png', duration: 5 }],
  ['a call-back without an address', `${EDIT}?fal_webhook=hooks`, { ...PROMPT, image_urls: ['https://a.example'] }],
];

describe('the published rules of the providers, in the sample and fake upstreams', () => {
  const fake = new FakeUpstream('test');
  useServers(fake);

  const post = async ([, path, body, headers]: Case): Promise<number> => {
    const authorization = path.startsWith('/v1/') ? 'Bearer test' : 'Key test';
    const type = { 'content-type': 'application/json' };
    const options = { method: 'POST', headers: { authorization, ...type, ...headers }, body: JSON.stringify(body) };
    return (await fetch(fake.url + path, options)).status;
  };

  for (const accepted of ACCEPTED) {
    it(`accept ${accepted[0]}`, async () => {
      expect(await post(accepted)).to.be.within(200, 201);
    });
  }

  for (const rejected of REJECTED) {
    it(`reject ${rejected[0]}`, async () => {
      expect(await post(rejected)).to.be.within(400, 422);
    });
  }

  it('accept every size of the default model at gpt-image-2', async () => {
    const env = { IMAGE_UPSTREAM: 'openai:gpt-image-2', OPENAI_BASE_URL: `${fake.url}/v1`, OPENAI_API_KEY: 'test' };
    const route = parseEnv(env).routes['imgmodel-2']?.[0] as UpstreamRoute;
    const upstream = openaiUpstream(route);
    fake.changeBody = () => ({ data: [{ url: 'https://files.example/a.png' }] });
    for (const resolution of ['1K', '2K', '4K']) {
      for (const aspect_ratio of ['1:1', '16:9', '9:16']) {
        const input = buildUpstreamInput(route, { prompt: randomUUID(), resolution, aspect_ratio });
        expect((await upstream.submit(buildSubmission({ input }))).state).to.equal('succeeded');
      }
    }
  });
});
