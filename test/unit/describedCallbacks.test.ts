import { createHmac } from 'node:crypto';
import { expect } from 'chai';
import type { ProtocolCallback } from '../../shared/gateways/upstreams/described/protocol.ts';
import { isRecentCallback, verifyCallback } from '../../shared/gateways/upstreams/index.ts';
import type { UpstreamSettings } from '../../shared/gateways/upstreams/upstreamSettings.ts';
import { setTestConfig } from '../harness/testConfig.ts';
import { buildRoute } from '../harness/upstreamAdapter.ts';
import { type Env, getEnvError, parseEnv } from '../harness/upstreamParser.ts';

const SECRET = 'a secret of call-backs';
const BODY = Buffer.from('{"data":{"task_id":"t1"}}');
const HMAC = { signature: 'hmac', id: '/data/task_id', header: 'x-signature', prefix: 'sha256=' } as const;

function upstreamWith(callback: ProtocolCallback, secret = Buffer.from(SECRET)): UpstreamSettings {
  const protocol = {
    auth: { type: 'bearer' },
    probe: { path: '/health' },
    callback,
    video: { submit: { path: '/jobs', id: '/id' }, poll: { path: '/jobs/{id}', state: '/s', output: { at: ['/o'] } } },
  } as const;
  const callbacks = { serviceUrl: 'https://in', keysUrl: '', secret };
  return buildRoute('http', 'video', 'x', { baseUrl: 'https://out', protocol: protocol as never, callbacks }).upstream;
}

const sign = (encoding: 'hex' | 'base64', body = BODY, secret = SECRET) =>
  createHmac('sha256', secret).update(body).digest(encoding);

describe('call-backs of a described upstream', () => {
  before(() => setTestConfig());

  for (const encoding of ['hex', 'base64'] as const) {
    it(`are accepted with an HMAC of the body in ${encoding}, and name their job`, async () => {
      const upstream = upstreamWith({ ...HMAC, encoding });
      const headers = { 'x-signature': `sha256=${sign(encoding)}` };
      expect(isRecentCallback(upstream, headers)).to.equal(true);
      expect(await verifyCallback(upstream, { headers, body: BODY })).to.equal('t1');
    });
  }

  for (const [what, signature] of [
    ['of another secret', `sha256=${sign('hex', BODY, 'another secret')}`],
    ['of another body', `sha256=${sign('hex', Buffer.from('{}'))}`],
    ['without its prefix', sign('hex')],
    ['in another encoding', `sha256=${sign('base64')}`],
    ['that is cut off', `sha256=${sign('hex').slice(0, 20)}`],
    ['that is empty', ''],
    ['that is missing', undefined],
  ] as const) {
    it(`are rejected with a signature ${what}`, async () => {
      const upstream = upstreamWith(HMAC);
      const headers = signature === undefined ? {} : { 'x-signature': signature };
      const isAccepted =
        isRecentCallback(upstream, headers) && (await verifyCallback(upstream, { headers, body: BODY })) !== undefined;
      expect(isAccepted).to.equal(false);
    });
  }

  it('are rejected without the id of a job', async () => {
    const body = Buffer.from('{"data":{}}');
    const headers = { 'x-signature': `sha256=${sign('hex', body)}` };
    expect(await verifyCallback(upstreamWith(HMAC), { headers, body })).to.equal(undefined);
  });

  it('are accepted with the signature of Standard Webhooks, and rejected with another or an old one', async () => {
    const key = Buffer.alloc(24, 'key');
    const upstream = upstreamWith({ signature: 'standard_webhooks', id: '/data/task_id' }, key);
    const seconds = Math.floor(Date.now() / 1_000);
    const headersFor = (secret: Buffer, at = seconds) => {
      const signature = createHmac('sha256', secret).update(`m1.${at}.`).update(BODY).digest('base64');
      return { 'webhook-id': 'm1', 'webhook-timestamp': String(at), 'webhook-signature': `v1,${signature}` };
    };
    expect(isRecentCallback(upstream, headersFor(key))).to.equal(true);
    expect(await verifyCallback(upstream, { headers: headersFor(key), body: BODY })).to.equal('t1');
    const forged = headersFor(Buffer.alloc(24, 'other'));
    expect(await verifyCallback(upstream, { headers: forged, body: BODY })).to.equal(undefined);
    expect(isRecentCallback(upstream, headersFor(key, seconds - 400))).to.equal(false);
  });

  it('are accepted without a signature if the provider has none', async () => {
    const upstream = upstreamWith({ signature: 'none', id: '/data/task_id' }, Buffer.alloc(0));
    expect(isRecentCallback(upstream, {})).to.equal(true);
    expect(await verifyCallback(upstream, { headers: {}, body: BODY })).to.equal('t1');
    expect(await verifyCallback(upstream, { headers: {}, body: Buffer.from('{}') })).to.equal(undefined);
  });
});

const env = (callback: object | undefined, own: object): Env => {
  const video = {
    submit: { path: '/jobs', id: '/id' },
    poll: { path: '/jobs/{id}', state: '/s', states: { done: 'succeeded' }, output: { at: ['/o'] } },
  };
  const protocol = { auth: { type: 'bearer' }, probe: { path: '/health' }, callback, video };
  const gpu = { adapter: 'http', base_url: 'https://gpu.example', key: 'k', protocol, ...own };
  return { SECRET_KEY: '0123456789abcdef', UPSTREAMS: JSON.stringify({ upstreams: { gpu } }) };
};
const read = (callback: object | undefined, own: object) =>
  parseEnv(env(callback, own)).upstreams.get('gpu')?.callbacks;

const error = (callback: object | undefined, own: object) => getEnvError(env(callback, own));

describe('the settings of call-backs of a described upstream', () => {
  const on = { callbacks: 'https://in.example' };

  it('need the secret that the signatures are made with', () => {
    const secret = { callback_secret: SECRET };
    expect(read(HMAC, { ...on, ...secret })?.secret?.toString()).to.equal(SECRET);
    expect(read(HMAC, {})).to.equal(undefined);
    const place = 'UPSTREAMS/upstreams/gpu';
    expect(error(HMAC, on)).to.equal(
      `${place}/callback_secret is not set, but callbacks is: it is the secret of the signatures.`,
    );
    expect(error(HMAC, { callback_secret: 'short' })).to.equal(
      `${place}/callback_secret must have at least 16 characters.`,
    );
    expect(error({ signature: 'standard_webhooks', id: '/id' }, { ...on, callback_secret: 'x' })).to.equal(
      `${place}/callback_secret must begin with whsec_.`,
    );
  });

  it('need none for a provider that does not sign, and none exist without a call-back', () => {
    expect(read({ signature: 'none', id: '/id' }, on)?.secret).to.deep.equal(Buffer.alloc(0));
    expect(error(undefined, on)).to.equal('UPSTREAMS/upstreams/gpu/callbacks must not be set: this protocol has none.');
    expect(error(undefined, { callback_secret: SECRET })).to.equal(
      'UPSTREAMS/upstreams/gpu/callback_secret must not be set: call-backs of this protocol have no secret.',
    );
  });
});
