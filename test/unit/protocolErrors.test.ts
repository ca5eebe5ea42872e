import { expect } from 'chai';
import { buildUpstreamInput, hasKey, type UpstreamRoute } from '../../shared/gateways/upstreams/index.ts';
import { PROVIDERS } from '../../shared/gateways/upstreams/providers/index.ts';
import { type Env, loadUpstreamParser, type UpstreamParser } from '../harness/upstreamParser.ts';

const SECRET = 'sk-do-not-print-5f1e';
const POLL = { path: '/jobs/{id}', state: '/status', states: { done: 'succeeded' }, output: { at: ['/url'] } };
const GOOD = {
  auth: { type: 'bearer' },
  probe: { path: '/health' },
  video: { submit: { path: '/jobs', id: '/id' }, poll: POLL },
};
const PLACE = 'UPSTREAMS/upstreams/gpu';

const declare = (own: object): Env => ({
  UPSTREAMS: JSON.stringify({
    upstreams: { gpu: { adapter: 'http', base_url: 'https://gpu.example/v1', key: SECRET, ...own } },
  }),
});

describe('the description of a protocol in UPSTREAMS', () => {
  let parser: UpstreamParser;
  before(async () => {
    parser = await loadUpstreamParser();
  });

  const getError = (own: object, env: Env = {}) => parser.getError({ ...declare(own), ...env });
  const protocolError = (protocol: object) => getError({ protocol: { ...GOOD, ...protocol } });
  const video = (video: object) => ({ video: { ...GOOD.video, ...video } });
  const submit = (more: object) => video({ submit: { ...GOOD.video.submit, ...more } });
  const poll = (more: object) => video({ poll: { ...POLL, ...more } });

  it('is accepted as it is meant', () => {
    expect(getError({ protocol: GOOD })).to.equal('nothing');
    const settings = parser.parse(declare({ protocol: GOOD })).upstreams.get('gpu');
    expect(settings).to.deep.include({ adapter: 'http', protocol: GOOD, key: SECRET });
  });

  for (const name of Object.keys(PROVIDERS)) {
    it(`comes with the service for ${name}, and only needs a key`, () => {
      const { base_url, protocol } = PROVIDERS[name] as (typeof PROVIDERS)[string];
      expect(getError({ base_url: undefined, protocol }), 'as data').to.include('"base_url"');
      expect(getError({ protocol }), 'as data').to.equal('nothing');
      const own = { base_url: undefined, provider: name, key_id: 'id' };
      expect(parser.parse(declare(own)).upstreams.get('gpu')).to.deep.include({ baseUrl: base_url, protocol });
    });
  }

  const refused: [string, object, string][] = [
    ['no authentication', { auth: undefined }, '/protocol/auth must be an object.'],
    [
      'an unknown authentication',
      { auth: { type: 'basic' } },
      '/protocol/auth/type must be one of none, bearer, header, query, jwt.',
    ],
    ['a header without a name', { auth: { type: 'header' } }, '/protocol/auth must have the "name" of the header.'],
    [
      'a parameter without a name',
      { auth: { type: 'query' } },
      '/protocol/auth must have the "name" of the parameter.',
    ],
    [
      'an unknown field',
      { polls: {} },
      '/protocol has no field "polls"; allowed fields are auth, model, hosts, errors, error_text, retry_after, files, probe, callback, video, image, models.',
    ],
    ['no probe', { probe: undefined }, '/protocol/probe must be an object.'],
    ['neither kind', { video: undefined }, '/protocol must have "video" or "image".'],
    [
      'an unknown state',
      poll({ states: { done: 'finished' } }),
      '/protocol/video/poll/states/done must be one of queued, running, succeeded, failed, canceled, policy, gone.',
    ],
    [
      'states without an end',
      poll({ states: { done: 'running' } }),
      '/protocol/video/poll/states must have a state that means "succeeded".',
    ],
    ['a list as states', poll({ states: ['done'] }), '/protocol/video/poll/states must be an object.'],
    [
      'a status that is none',
      poll({ statuses: { done: 'succeeded' } }),
      '/protocol/video/poll/statuses: the name "done" must be a status such as 202.',
    ],
    ['no state at all', poll({ state: undefined }), '/protocol/video/poll must have "state" or "statuses".'],
    [
      'a path instead of a pointer',
      poll({ state: 'status' }),
      '/protocol/video/poll/state must be a JSON pointer such as /data/*/url, or header:name.',
    ],
    ['no place of the output', poll({ output: undefined }), '/protocol/video/poll/output must be an object.'],
    [
      'an unknown encoding of the output',
      poll({ output: { at: ['/a'], as: 'hex' } }),
      '/protocol/video/poll/output/as must be one of address, base64.',
    ],
    [
      'an output that expires at once',
      poll({ output: { at: ['/a'], expires_seconds: 5 } }),
      '/protocol/video/poll/output/expires_seconds must be a whole number from 60.',
    ],
    [
      'base64 without a place',
      poll({ output: { as: 'base64' } }),
      '/protocol/video/poll/output must have "at" for base64.',
    ],
    [
      'a file that needs the key, which is not sent',
      poll({ output: {} }),
      '/protocol/files must have "auth": true, because the output of "video" is at an address that requires the key.',
    ],
    [
      'neither a poll nor an output',
      { video: { submit: GOOD.video.submit } },
      '/protocol/video must have either "submit/output" or "poll".',
    ],
    [
      'a poll and an output',
      submit({ output: { at: ['/url'] } }),
      '/protocol/video must have either "submit/output" or "poll".',
    ],
    ['no id', submit({ id: undefined }), '/protocol/video/submit must have "id", a pointer to the id of the job.'],
    [
      'an unknown method',
      submit({ method: 'HEAD' }),
      '/protocol/video/submit/method must be one of GET, POST, PUT, PATCH, DELETE.',
    ],
    [
      'files in JSON',
      submit({ images: 'file' }),
      '/protocol/video/submit/images can be "file" only with "as": "form".',
    ],
    [
      'an unknown variable of images',
      submit({ images: { data: '$bytes' } }),
      '/protocol/video/submit/images cannot be filled: unknown variable "bytes"; available are address, base64, type, role.',
    ],
    [
      'uploads whose values no image uses',
      submit({ uploads: [{ path: '/files' }] }),
      '/protocol/video/submit/images must be a template that uses the values of "uploads".',
    ],
    [
      'an upload with a variable of a later one',
      submit({ images: '$file', uploads: [{ path: '/files/{file}' }, { path: '/files', values: { file: '/id' } }] }),
      '/protocol/video/submit/uploads/0 cannot be filled: unknown variable "file"; available are model, generation_id, seconds_left, with_images, address, base64, type, role.',
    ],
    [
      'an image with a value of no upload',
      submit({ images: '{name}', uploads: [{ path: '/files', values: { file: '/id' } }] }),
      '/protocol/video/submit/images cannot be filled: unknown variable "name"; available are address, base64, type, role, file.',
    ],
    [
      'an unknown variable',
      submit({ body: { model: '$modell' } }),
      '/protocol/video/submit cannot be filled: unknown variable "modell"; available are model, generation_id, seconds_left, with_images, callback_url, callback_secret.',
    ],
    [
      'a variable that may be absent, in a text',
      submit({ path: '/jobs?webhook={callback_url}' }),
      '/protocol/video/submit cannot be filled: "callback_url" may be absent, so it cannot be part of a text.',
    ],
    [
      'a path that is none',
      submit({ path: 'jobs' }),
      '/protocol/video/submit cannot be filled: the path must be a text that begins with /.',
    ],
    [
      'a path by a table without all entries',
      submit({ path: { $by: 'with_images', true: '/edit' } }),
      '/protocol/video/submit cannot be filled: the table by with_images has no "false".',
    ],
    [
      'a poll with an unknown variable',
      poll({ path: '/jobs/{job}' }),
      '/protocol/video/poll cannot be filled: unknown variable "job"; available are model, id, with_images.',
    ],
    [
      'a poll without a path',
      poll({ path: undefined }),
      '/protocol/video/poll must have "path", or "submit" must have "poll_url".',
    ],
    [
      'a result with an unknown variable',
      poll({ result: { path: '/files/{file}' } }),
      '/protocol/video/poll/result cannot be filled: unknown variable "file"; available are model, id, with_images.',
    ],
    [
      'a cancellation with an unknown variable',
      video({ cancel: { path: '/jobs/{job}' } }),
      '/protocol/video/cancel cannot be filled: unknown variable "job"; available are model, id, with_images.',
    ],
    [
      'a rule without a meaning',
      { errors: [{ status: 400 }] },
      '/protocol/errors/0/means must be one of policy, rejected, account, busy, broken, gone.',
    ],
    [
      'an unknown meaning',
      { errors: [{ status: 400, means: 'bad' }] },
      '/protocol/errors/0/means must be one of policy, rejected, account, busy, broken, gone.',
    ],
    ['a host with a path', { hosts: ['cdn.example/x'] }, '/protocol/hosts/0 must be a host such as *.example.com.'],
    [
      'a pattern of models without the model',
      { model: '{endpoint}' },
      '/protocol/model must be a pattern such as {endpoint}/{model}.',
    ],
    [
      'a key in addresses of files',
      { auth: { type: 'query', name: 'k' }, files: { auth: true } },
      '/protocol/files/auth must not be true: a key in the address would be stored with it.',
    ],
    [
      'a signature without its header',
      { callback: { signature: 'hmac', id: '/id' } },
      '/protocol/callback must have the "header" of the signature.',
    ],
    [
      'an unknown signature',
      { callback: { signature: 'rsa', id: '/id' } },
      '/protocol/callback/signature must be one of none, hmac, standard_webhooks.',
    ],
    [
      'a price below nothing',
      { models: { a: { cents: -1 } } },
      '/protocol/models/a/cents must be a number from 0 to 100000, or a table with "$by".',
    ],
  ];
  for (const [what, protocol, sentence] of refused) {
    it(`is rejected for ${what}, with a sentence that names its place`, () => {
      const error = protocolError(protocol);
      expect(error).to.equal(`${PLACE}${sentence}`);
      expect(error).to.not.include(SECRET);
    });
  }

  for (const [what, own, sentence] of [
    [
      'both a provider and a protocol',
      { provider: 'stability', protocol: GOOD },
      ' must have either a "provider" or a "protocol".',
    ],
    ['neither', {}, ' must have either a "provider" or a "protocol".'],
    ['an unknown provider', { provider: 'acme' }, `/provider must be one of ${Object.keys(PROVIDERS).join(', ')}.`],
    [
      'a protocol of another adapter',
      { adapter: 'fal', protocol: GOOD },
      '/protocol must not be set: only the adapter http has one.',
    ],
    [
      'a provider of another adapter',
      { adapter: 'fal', provider: 'stability' },
      '/provider must not be set: only the adapter http has one.',
    ],
    [
      'tokens without the id of the key',
      { protocol: { ...GOOD, auth: { type: 'jwt' } } },
      '/key_id is not set: tokens of this protocol name the id of the key.',
    ],
  ] as const) {
    it(`is rejected for an upstream with ${what}`, () => {
      expect(getError(own)).to.equal(`${PLACE}${sentence}`);
    });
  }

  it('must make what a model makes, with a model id of its form', () => {
    expect(getError({ protocol: GOOD }, { IMAGE_UPSTREAM: 'gpu:large' })).to.equal(
      'IMAGE_UPSTREAM cannot be used: the description of the upstream gpu makes no images.',
    );
    const protocol = { ...GOOD, model: '{endpoint}/{model}' };
    expect(getError({ protocol }, { VIDEO_UPSTREAM: 'gpu:large' })).to.equal(
      'VIDEO_UPSTREAM cannot be used: by the description of the upstream gpu, its model id must be {endpoint}/{model}.',
    );
    expect(getError({ protocol }, { VIDEO_UPSTREAM: 'gpu:text2video/large' })).to.equal('nothing');
  });

  it('fills inputs with another random seed for each generation', () => {
    const described = { ...GOOD, video: { ...GOOD.video, input: { prompt: '$prompt', seed: '$random_seed' } } };
    const { routes } = parser.parse({ ...declare({ protocol: described }), VIDEO_UPSTREAM: 'gpu:large' });
    const fill = () =>
      Number(buildUpstreamInput(routes['vidmodel-video']?.[0] as UpstreamRoute, { prompt: 'p' })['seed']);
    const seeds = Array.from({ length: 5 }, fill);
    for (const seed of seeds)
      expect(seed)
        .to.be.within(0, 2 ** 31 - 1)
        .and.satisfy(Number.isInteger);
    expect(new Set(seeds).size).to.be.above(1);
  });

  it('needs a key, unless its authentication is optional or none', () => {
    for (const [auth, expected] of [
      [{ type: 'bearer' }, false],
      [{ type: 'bearer', optional: true }, true],
      [{ type: 'none' }, true],
    ] as const) {
      const env = { ...declare({ key: undefined, protocol: { ...GOOD, auth } }), VIDEO_UPSTREAM: 'gpu:large' };
      expect(hasKey(parser.parse(env).routes['vidmodel-video']?.[0] as UpstreamRoute)).to.equal(expected);
    }
  });

  it('must have a place for each file, if a generation has several', () => {
    const model = {
      name: 'M',
      kind: 'image',
      description: 'M.',
      upstreams: ['gpu:large'],
      params: {},
      outputs: 2,
      credits: 2,
    };
    const CATALOG = JSON.stringify({ models: { m: model } });
    for (const [output, expected] of [
      [{ at: ['/data/*/url'] }, 'nothing'],
      [{ at: ['/data/*/b64'], as: 'base64' }, 'nothing'],
      [{}, '"outputs" must be 1, because the adapter http takes one file'],
    ] as const)
      expect(getError({ protocol: { ...GOOD, image: { submit: { path: '/jobs', output } } } }, { CATALOG })).to.include(
        expected,
      );
  });

  it('may have keys without an id, if its protocol also takes plain keys', () => {
    expect(getError({ protocol: { ...GOOD, auth: { type: 'jwt', plain_keys: true } } })).to.equal('nothing');
  });

  it('has an input that may depend on images, and is tried with them and without', () => {
    const common = { name: 'M', kind: 'video', description: 'M.', upstreams: ['gpu:large'], credits: 2 };
    const params = { size: { enum: ['s', 'l'], default: 's' } };
    const getProblem = (size: object, inputs: object) => {
      const input = { prompt: '$prompt', frame: '$first_frame', size: { $by: 'with_images size', ...size } };
      const protocol = { ...GOOD, video: { ...GOOD.video, input } };
      return getError({ protocol }, { CATALOG: JSON.stringify({ models: { m: { ...common, params, inputs } } }) });
    };
    const [without, withImages] = [
      { 'false s': 1, 'false l': 2 },
      { 'true s': 3, 'true l': 4 },
    ];
    const frame = { role: 'first_frame' };
    expect(getProblem(without, {})).to.equal('nothing');
    expect(getProblem({ ...without, ...withImages }, { frame })).to.equal('nothing');
    expect(getProblem({ ...without, 'true s': 3 }, { frame })).to.include(
      'does not fit {"size":"l"} with images: the table by with_images and size has no "true l"',
    );
    expect(getProblem(withImages, { frame })).to.include('has no "false s"');
    expect(getProblem(withImages, { frame: { ...frame, required: true } })).to.equal('nothing');
  });

  it('has the inputs and prices of its models, which UPSTREAMS may override', () => {
    const described = {
      ...GOOD,
      models: { large: { cents: 7 } },
      video: { ...GOOD.video, input: { text: '$prompt' } },
    };
    const route = (models: object) => {
      const variable = JSON.parse(declare({ protocol: described })['UPSTREAMS'] as string);
      const env = { UPSTREAMS: JSON.stringify({ ...variable, models }), VIDEO_UPSTREAM: 'gpu:large' };
      return parser.parse(env).routes['vidmodel-video']?.[0]?.modelSettings;
    };
    expect(route({})).to.deep.equal({ input: { text: '$prompt' }, cents: 7 });
    const input = { q: '$prompt' };
    expect(route({ 'gpu:large': { input } })).to.deep.equal({ input, cents: 7 });
  });
});
