import { expect } from 'chai';
import { buildUpstreamInput, hasKey, type UpstreamRoute } from '../../shared/gateways/upstreams/index.ts';
import { PROVIDERS } from '../../shared/gateways/upstreams/providers/index.ts';
import { type Env, getEnvError, parseEnv } from '../harness/upstreamParser.ts';

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

const getError = (own: object, env: Env = {}) => getEnvError({ ...declare(own), ...env });

const protocolError = (protocol: object) => getError({ protocol: { ...GOOD, ...protocol } });

describe('the description of a protocol in UPSTREAMS', () => {
  const video = (video: object) => ({ video: { ...GOOD.video, ...video } });
  const submit = (more: object) => video({ submit: { ...GOOD.video.submit, ...more } });
  const poll = (more: object) => video({ poll: { ...POLL, ...more } });

  it('is accepted as it is meant', () => {
    expect(getError({ protocol: GOOD })).to.equal('nothing');
    const settings = parseEnv(declare({ protocol: GOOD })).upstreams.get('gpu');
    expect(settings).to.deep.include({ adapter: 'http', protocol: GOOD, key: SECRET });
  });

  for (const name of Object.keys(PROVIDERS)) {
    it(`comes with the service for ${name}, and only needs a key`, () => {
      const { base_url, protocol } = PROVIDERS[name] as (typeof PROVIDERS)[string];
      expect(getError({ base_url: undefined, protocol }), 'as data').to.include('"base_url"');
      expect(getError({ protocol }), 'as data').to.equal('nothing');
      const own = { base_url: undefined, provider: name, key_id: 'id' };
      expect(parseEnv(declare(own)).upstreams.get('gpu')).to.deep.include({ baseUrl: base_url, protocol });
    });
  }

  const refused: [protocol: object, sentence: string][] = [
    [{ auth: undefined }, '/auth must be an object.'],
    [{ auth: { type: 'basic' } }, '/auth/type must be one of none, bearer, header, query, jwt.'],
    [{ auth: { type: 'header' } }, '/auth must have the "name" of the header.'],
    [{ auth: { type: 'query' } }, '/auth must have the "name" of the parameter.'],
    [
      { polls: {} },
      ' has no field "polls"; allowed fields are auth, model, hosts, errors, error_text, retry_after, files, probe, callback, video, image, models.',
    ],
    [{ probe: undefined }, '/probe must be an object.'],
    [{ probe: { path: '/', statuses: ['200'] } }, '/probe/statuses/0 must be a whole number from 100 to 599.'],
    [{ error_text: [] }, '/error_text must be a list that is not empty.'],
    [{ video: undefined }, ' must have "video" or "image".'],
    [{ video: { submit: GOOD.video.submit } }, '/video must have either "submit/output" or "poll".'],
    [{ errors: [{ status: 400 }] }, '/errors/0/means must be one of policy, rejected, account, busy, broken, gone.'],
    [
      { errors: [{ status: 400, means: 'bad' }] },
      '/errors/0/means must be one of policy, rejected, account, busy, broken, gone.',
    ],
    [{ hosts: ['cdn.example/x'] }, '/hosts/0 must be a host such as *.example.com.'],
    [{ model: '{endpoint}' }, '/model must be a pattern such as {endpoint}/{model}.'],
    [
      { auth: { type: 'query', name: 'k' }, files: { auth: true } },
      '/files/auth must not be true: a key in the address would be stored with it.',
    ],
    [{ callback: { signature: 'hmac', id: '/id' } }, '/callback must have the "header" of the signature.'],
    [
      { callback: { signature: 'rsa', id: '/id' } },
      '/callback/signature must be one of none, hmac, standard_webhooks.',
    ],
    [{ models: { a: { cents: -1 } } }, '/models/a/cents must be a number from 0 to 100000, or a table with "$by".'],
    [
      poll({ output: {} }),
      '/files must have "auth": true, because the output of "video" is at an address that requires the key.',
    ],
    [submit({ output: { at: ['/url'] } }), '/video must have either "submit/output" or "poll".'],
    [
      video({ cancel: { path: '/jobs/{job}' } }),
      '/video/cancel cannot be filled: unknown variable "job"; available are model, id, with_images.',
    ],
  ];
  const OF_IMAGES = 'available are address, base64, type, role';
  const OF_SUBMITS = 'available are model, generation_id, seconds_left, with_images';
  const OF_POLLS = 'available are model, id, with_images';
  const refusedSubmits: typeof refused = [
    [{ id: undefined }, ' must have "id", a pointer to the id of the job.'],
    [{ method: 'HEAD' }, '/method must be one of GET, POST, PUT, PATCH, DELETE.'],
    [{ images: 'file' }, '/images can be "file" only with "as": "form".'],
    [{ images: { data: '$bytes' } }, `/images cannot be filled: unknown variable "bytes"; ${OF_IMAGES}.`],
    [{ uploads: [{ path: '/files' }] }, '/images must be a template that uses the values of "uploads".'],
    [
      { images: '$file', uploads: [{ path: '/files/{file}' }, { path: '/files', values: { file: '/id' } }] },
      `/uploads/0 cannot be filled: unknown variable "file"; ${OF_SUBMITS}, address, base64, type, role.`,
    ],
    [
      { images: '{name}', uploads: [{ path: '/files', values: { file: '/id' } }] },
      `/images cannot be filled: unknown variable "name"; ${OF_IMAGES}, file.`,
    ],
    [
      { body: { model: '$modell' } },
      ` cannot be filled: unknown variable "modell"; ${OF_SUBMITS}, callback_url, callback_secret.`,
    ],
    [
      { path: '/jobs?webhook={callback_url}' },
      ' cannot be filled: "callback_url" may be absent, so it cannot be part of a text.',
    ],
    [{ path: 'jobs' }, ' cannot be filled: the path must be a text that begins with /.'],
    [{ path: { $by: 'with_images', true: '/edit' } }, ' cannot be filled: the table by with_images has no "false".'],
  ];
  const refusedPolls: typeof refused = [
    [
      { states: { done: 'finished' } },
      '/states/done must be one of queued, running, succeeded, failed, canceled, policy, gone.',
    ],
    [{ states: { done: 'running' } }, '/states must have a state that means "succeeded".'],
    [{ states: ['done'] }, '/states must be an object.'],
    [{ statuses: { done: 'succeeded' } }, '/statuses: the name "done" must be a status such as 202.'],
    [{ state: undefined }, ' must have "state" or "statuses".'],
    [{ state: 'status' }, '/state must be a JSON pointer such as /data/*/url, or header:name.'],
    [{ output: undefined }, '/output must be an object.'],
    [{ output: { at: ['/a'], as: 'hex' } }, '/output/as must be one of address, base64.'],
    [{ output: { at: ['/a'], expires_seconds: 5 } }, '/output/expires_seconds must be a whole number from 60.'],
    [{ output: { as: 'base64' } }, '/output must have "at" for base64.'],
    [{ path: '/jobs/{job}' }, ` cannot be filled: unknown variable "job"; ${OF_POLLS}.`],
    [{ path: undefined }, ' must have "path", or "submit" must have "poll_url".'],
    [{ result: { path: '/files/{file}' } }, `/result cannot be filled: unknown variable "file"; ${OF_POLLS}.`],
  ];
  for (const [protocol, sentence] of [
    ...refused,
    ...refusedSubmits.map(([more, sentence]) => [submit(more), `/video/submit${sentence}`] as const),
    ...refusedPolls.map(([more, sentence]) => [poll(more), `/video/poll${sentence}`] as const),
  ]) {
    it(`is rejected with "protocol${sentence}"`, () => {
      const error = protocolError(protocol);
      expect(error).to.equal(`${PLACE}/protocol${sentence}`);
      expect(error).to.not.include(SECRET);
    });
  }

  for (const [own, sentence] of [
    [{ provider: 'stability', protocol: GOOD }, ' must have either a "provider" or a "protocol".'],
    [{}, ' must have either a "provider" or a "protocol".'],
    [{ provider: 'acme' }, `/provider must be one of ${Object.keys(PROVIDERS).join(', ')}.`],
    [{ adapter: 'fal', protocol: GOOD }, '/protocol must not be set: only the adapter http has one.'],
    [{ adapter: 'fal', provider: 'stability' }, '/provider must not be set: only the adapter http has one.'],
    [
      { protocol: { ...GOOD, auth: { type: 'jwt' } } },
      '/key_id is not set: tokens of this protocol name the id of the key.',
    ],
  ] as const) {
    it(`is rejected for an upstream that is ${JSON.stringify(own)}`, () => {
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
    const { routes } = parseEnv({ ...declare({ protocol: described }), VIDEO_UPSTREAM: 'gpu:large' });
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
      expect(hasKey(parseEnv(env).routes['vidmodel-video']?.[0] as UpstreamRoute)).to.equal(expected);
    }
  });

  it('must have a place for each file, if a generation has several', () => {
    const made = { name: 'M', kind: 'image', description: 'M.', params: {} };
    const model = { ...made, upstreams: ['gpu:large'], outputs: 2, credits: 2 };
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
      return parseEnv(env).routes['vidmodel-video']?.[0]?.modelSettings;
    };
    expect(route({})).to.deep.equal({ input: { text: '$prompt' }, cents: 7 });
    const input = { q: '$prompt' };
    expect(route({ 'gpu:large': { input } })).to.deep.equal({ input, cents: 7 });
  });
});
