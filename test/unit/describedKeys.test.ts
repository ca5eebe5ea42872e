import { expect } from 'chai';
import { jwtVerify } from 'jose';
import type { Protocol } from '../../shared/gateways/upstreams/described/protocol.ts';
import type { UpstreamSettings } from '../../shared/gateways/upstreams/upstreamSettings.ts';
import { ScriptedServer } from '../fakes/scriptedServer.ts';
import { buildSubmission, buildUpstream, captureUpstreamError, useServers } from '../harness/upstreamAdapter.ts';

const PROTOCOL: Protocol = {
  auth: { type: 'bearer' },
  error_text: ['/error/message'],
  probe: { path: '/health' },
  video: {
    submit: { path: '/jobs', id: '/id' },
    poll: { path: '/jobs/{id}', state: '/status', states: { done: 'succeeded' }, output: { at: ['/output'] } },
  },
};

describe('an upstream whose protocol is described sends its key', () => {
  const server = new ScriptedServer();
  useServers(server);

  const upstream = (protocol: Partial<Protocol>, settings: Partial<UpstreamSettings> = {}) => {
    const own = { baseUrl: `${server.url}/v1`, protocol: { ...PROTOCOL, ...protocol }, ...settings };
    return buildUpstream('http', 'video', 'large', own);
  };
  const send = async (protocol: Partial<Protocol>, settings: Partial<UpstreamSettings> = {}) => {
    server.on('POST /v1/jobs', { status: 200, body: { id: 'j1' } });
    await upstream(protocol, settings).submit(buildSubmission());
    return server.last;
  };

  it('as a bearer token, in a header with a prefix, or not at all', async () => {
    expect((await send({})).headers.authorization).to.equal('Bearer test');
    const header = await send({ auth: { type: 'header', name: 'X-Key', prefix: 'Token ' } });
    expect(header.headers).to.include({ 'x-key': 'Token test' });
    expect(header.headers).to.not.have.property('authorization');
    expect((await send({ auth: { type: 'none' } })).headers).to.not.have.property('authorization');
    expect((await send({}, { key: null })).headers).to.not.have.property('authorization');
  });

  it('and no error repeats another secret of its requests', async () => {
    const kind = PROTOCOL.video as NonNullable<Protocol['video']>;
    const headers = { 'x-secret': 'second secret', 'x-token': 'Pa$$word{1' };
    const body = { api_token: 'a third one', api_keys: ['a key of many', '$model'] };
    const submit = { ...kind.submit, headers, body };
    const said = '"second secret", "Pa$$word{1", "a third one" and "a key of many" are no keys of $model.';
    server.on('POST /v1/jobs', { status: 400, body: { error: { message: said } } });
    const refused = upstream({ video: { ...kind, submit } }).submit(buildSubmission());
    const { message } = await captureUpstreamError(refused);
    expect(message).to.equal('"***", "***", "***" and "***" are no keys of $model.');
  });

  it('as a parameter of the address, which no error repeats', async () => {
    const protocol: Partial<Protocol> = { auth: { type: 'query', name: 'key' } };
    const key = 'a secret/key';
    for (const answer of [{ status: 500, body: {} }, 'drop', 'garbage', 'hang'] as const) {
      server.on('POST /v1/jobs?key=a+secret%2Fkey', answer);
      const error = await captureUpstreamError(upstream(protocol, { key }).submit(buildSubmission()));
      expect(`${error.message} ${error.stack}`).to.not.match(/secret/);
    }
    const refused = upstream(protocol, { key, baseUrl: 'http://127.0.0.1:1' }).submit(buildSubmission());
    expect((await captureUpstreamError(refused)).message).to.not.include('secret');
    server.on('POST /v1/jobs?key=a+secret%2Fkey', {
      status: 400,
      body: { error: { message: 'The key "a secret/key" (a%20secret%2Fkey) is unknown.' } },
    });
    const echoed = await captureUpstreamError(upstream(protocol, { key }).submit(buildSubmission()));
    expect(echoed.message).to.equal('The key "***" (***) is unknown.');
  });

  for (const algorithm of ['HS256', 'HS512'] as const) {
    it(`as the signature of a token with the id of the key, ${algorithm}`, async () => {
      const auth = { type: 'jwt', algorithm, lifetime_seconds: 600 } as const;
      const secret = new TextEncoder().encode('test');
      const token = (await send({ auth }, { keyId: 'ak-1' })).headers.authorization?.split(' ')[1] as string;
      const { payload, protectedHeader } = await jwtVerify(token, secret);
      expect(protectedHeader).to.deep.equal({ alg: algorithm, typ: 'JWT' });
      expect(payload.iss).to.equal('ak-1');
      expect((payload.exp as number) - (payload.nbf as number)).to.equal(605);
      const other = await send({ auth: { ...auth, key_id: 'kid' } }, { keyId: 'ak-1' });
      const verified = await jwtVerify(other.headers.authorization?.split(' ')[1] as string, secret);
      expect(verified.protectedHeader.kid).to.equal('ak-1');
      expect(verified.payload).to.not.have.property('iss');
    });
  }

  it('as it is if it has no id and the protocol also takes plain keys', async () => {
    const auth = { type: 'jwt', plain_keys: true } as const;
    expect((await send({ auth })).headers.authorization).to.equal('Bearer test');
    expect((await send({ auth }, { keyId: 'ak-1' })).headers.authorization).to.match(/^Bearer ey/);
  });
});
