import { expect } from 'chai';
import { FakeUpstream } from '../fakes/fakeUpstream.ts';
import { STRIPE_ENV } from '../harness/testConfig.ts';
import { buildSubmission, buildUpstream, getHandle, useServers } from '../harness/upstreamAdapter.ts';
import { type Env, getEnvError, parseEnv } from '../harness/upstreamParser.ts';

const PUBLIC = { BASE_URL: 'https://genmeter.example', SECRET_KEY: '0123456789abcdef', STRIPE_SECRET_KEY: 'sk_test_1' };

const readSettings = (name: string, env: Env, own: object = {}) => {
  const UPSTREAMS = JSON.stringify({ upstreams: { [name]: own } });
  return parseEnv({ ...env, UPSTREAMS }).upstreams.get(name)?.callbacks;
};

const error = (name: string, own: object) => getEnvError({ UPSTREAMS: JSON.stringify({ upstreams: { [name]: own } }) });

describe('call-backs of upstreams', () => {
  const publicEnv = { ...PUBLIC, ...STRIPE_ENV };

  it('are off at a local address, without https and without SECRET_KEY', () => {
    const { SECRET_KEY: _secret, ...withoutSecret } = publicEnv;
    const places: Env[] = [
      {},
      { ...publicEnv, BASE_URL: 'https://localhost:3000' },
      { ...publicEnv, BASE_URL: 'http://genmeter.example' },
      withoutSecret,
      { ...withoutSecret, DATABASE_URL: 'postgres://user:password@host/name' },
    ];
    for (const env of places) expect(readSettings('fal', env)).to.equal(undefined);
  });

  it('are on at a public address, with the keys of the provider', () => {
    const serviceUrl = PUBLIC.BASE_URL;
    expect(readSettings('fal', publicEnv)).to.deep.equal({
      serviceUrl,
      keysUrl: 'https://rest.fal.ai/.well-known/jwks.json',
      secret: null,
    });
    expect(readSettings('replicate', publicEnv)).to.deep.equal({
      serviceUrl,
      keysUrl: 'https://api.replicate.com/v1/webhooks/default/secret',
      secret: null,
    });
    expect(readSettings('openai', publicEnv)).to.equal(undefined);
  });

  it('are switched off, directed to another address, and given other keys by UPSTREAMS', () => {
    const secret = Buffer.alloc(24, 'secret');
    expect(readSettings('fal', publicEnv, { callbacks: false })).to.equal(undefined);
    const own = { adapter: 'fal', base_url: 'https://proxy.example/fal', key: 'k', callbacks: 'https://in.example/' };
    expect(readSettings('own', { SECRET_KEY: PUBLIC.SECRET_KEY }, own)).to.deep.equal({
      serviceUrl: 'https://in.example',
      keysUrl: 'https://proxy.example/.well-known/jwks.json',
      secret: null,
    });
    expect(readSettings('fal', publicEnv, { callback_keys_url: 'https://keys.example/' })).to.include({
      keysUrl: 'https://keys.example/',
    });
    expect(
      readSettings('replicate', publicEnv, { callback_secret: `whsec_${secret.toString('base64')}` }),
    ).to.deep.include({
      secret,
    });
    expect(readSettings('fal', {}, { callbacks: true })).to.include({ serviceUrl: 'http://localhost:3000' });
  });

  it('are rejected where they cannot work', () => {
    expect(error('openai', { callbacks: true })).to.include('UPSTREAMS/upstreams/openai/callbacks must not be set');
    expect(error('fal', { callbacks: 'example' })).to.include('must be true, false, or an address');
    expect(error('replicate', { callback_secret: 'secret' })).to.include('must begin with whsec_');
  });

  it('are rejected with a secret that could verify none of them', () => {
    const place = 'UPSTREAMS/upstreams/replicate/callback_secret';
    for (const callback_secret of ['whsec_', 'whsec_abc', 'whsec_c2VjcmV0'])
      expect(error('replicate', { callback_secret })).to.include(`${place} must be whsec_ and at least 16 bytes`);
    const secret = { callback_secret: `whsec_${Buffer.alloc(24).toString('base64')}` };
    expect(error('fal', secret)).to.include('UPSTREAMS/upstreams/fal/callback_secret must not be set');
  });

  it('are rejected at an address that is not local without SECRET_KEY, also with a password of the database', () => {
    for (const DATABASE_URL of ['postgres://user@host/name', 'postgres://user:password@host/name']) {
      const getError = (callbacks: string | boolean, env: Env = {}) =>
        getEnvError({ DATABASE_URL, ...env, UPSTREAMS: JSON.stringify({ upstreams: { fal: { callbacks } } }) });
      const sentence = 'SECRET_KEY is not set, but UPSTREAMS/upstreams/fal/callbacks is';
      expect(getError('https://in.example')).to.include(sentence);
      expect(getError('http://in.example')).to.include(sentence);
      expect(getError(true, { BASE_URL: 'http://in.example' })).to.include(sentence);
      expect(getError('http://127.0.0.1:3000')).to.equal('nothing');
      expect(getError('http://in.example', { SECRET_KEY: PUBLIC.SECRET_KEY })).to.equal('nothing');
    }
  });
});

describe('the submit of an upstream', () => {
  const fake = new FakeUpstream('test');
  useServers(fake);

  const callbackUrl = 'https://genmeter.example/upstream-events/a-b_c';

  it('of fal carries the address of its call-back in the query, and is unchanged without one', async () => {
    const upstream = buildUpstream('fal', 'image', 'owner/name/path', { baseUrl: fake.url });
    const submission = buildSubmission();
    getHandle(await upstream.submit({ ...submission, callbackUrl }));
    getHandle(await upstream.submit(submission));
    const [asking, plain] = fake.jobsFor(submission.input.prompt).map(({ request }) => request);
    expect([...(asking?.query ?? [])]).to.deep.equal([['fal_webhook', callbackUrl]]);
    expect([...(plain?.query ?? [])]).to.deep.equal([]);
    expect(asking?.body).to.deep.equal(plain?.body);
  });

  it('of Replicate carries the address of its call-back in the body, and is unchanged without one', async () => {
    const baseUrl = `${fake.url}/v1`;
    for (const model of ['owner/name', 'owner/name:version']) {
      const upstream = buildUpstream('replicate', 'image', model, { baseUrl });
      const submission = buildSubmission();
      getHandle(await upstream.submit({ ...submission, callbackUrl }));
      getHandle(await upstream.submit(submission));
      const [asking, plain] = fake.jobsFor(submission.input.prompt).map(({ request }) => request);
      const version = model.includes(':') ? { version: 'version' } : {};
      const { input } = submission;
      expect(plain?.body).to.deep.equal({ input: { ...version, input } });
      expect(asking?.body).to.deep.equal({
        input: { ...version, input, webhook: callbackUrl, webhook_events_filter: ['completed'] },
      });
    }
  });
});
