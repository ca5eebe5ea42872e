import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { expect } from 'chai';
import type { KindProtocol, Protocol } from '../../shared/gateways/upstreams/described/protocol.ts';
import { setClock, systemClock } from '../../shared/lib/clock.ts';
import { ScriptedServer } from '../fakes/scriptedServer.ts';
import { scaleTimeout } from '../harness/scaleTimeout.ts';
import { setTestConfig } from '../harness/testConfig.ts';
import {
  buildInputImage,
  buildSubmission,
  buildUpstream,
  captureUpstreamError,
  NOT_ALLOWED,
  useServers,
} from '../harness/upstreamAdapter.ts';

type Uploads = NonNullable<KindProtocol['submit']['uploads']>;

const FORM: Uploads = [
  {
    path: '/files/{model}',
    as: 'form',
    body: { image: '$address', folder: '{generation_id}' },
    values: { name: '/name', folder: '/folder' },
  },
];
const submission = (...names: string[]) => ({
  ...buildSubmission({ input: { prompt: 'p', refs: names.map((name) => `https://images/${name}`) } }),
  images: names.map((name) => buildInputImage(name)),
});

describe('a described upstream to which images are uploaded before the submit', () => {
  const server = new ScriptedServer();
  useServers(server);
  beforeEach(() => server.on('POST /jobs', { status: 200, body: { id: 'j1' } }));

  const upstream = (
    uploads: Uploads,
    images: object | string,
    protocol: Partial<Protocol> = {},
    baseUrl = server.url,
  ) =>
    buildUpstream('http', 'image', 'large', {
      baseUrl,
      protocol: {
        auth: { type: 'bearer' },
        error_text: ['/error'],
        probe: { path: '/health' },
        image: {
          submit: { path: '/jobs', id: '/id', images: images as string, uploads },
          poll: { path: '/jobs/{id}', state: '/s', states: { a: 'succeeded' }, output: { at: ['/o'] } },
        },
        ...protocol,
      },
    });

  it('sends each image as a file of a form, and the values of the responses in its place', async () => {
    server.on('POST /files/large', { status: 201, body: { name: 'image (1).png', folder: 'f' } });
    const request = submission('a', 'b');
    expect(await upstream(FORM, '{folder}/{name}').submit(request)).to.include({ state: 'accepted' });
    expect(server.calls).to.deep.equal(['POST /files/large', 'POST /files/large', 'POST /jobs']);
    expect(server.lastJson).to.deep.equal({ prompt: 'p', refs: ['f/image (1).png', 'f/image (1).png'] });
    server.requests.pop();
    expect(server.last.headers).to.include({ authorization: 'Bearer test' });
    expect(await server.readLastForm()).to.deep.equal([
      ['image', 'image.png image/png content of b'],
      ['folder', request.generationId],
    ]);
  });

  it('sends several requests for an image, with the values of earlier ones', async () => {
    server.on('POST /begin', { status: 200, body: { id: 7 } });
    server.on('PUT /parts/7', { status: 200, body: { done: true } });
    const uploads: Uploads = [
      { path: '/begin', body: { type: '$type' }, values: { file: '/id' } },
      { method: 'PUT', path: '/parts/{file}', body: { content: '$base64' } },
    ];
    await upstream(uploads, { id: '$file', role: '$role' }).submit(submission('a'));
    expect(server.lastJson).to.deep.equal({ prompt: 'p', refs: [{ id: '7', role: 'reference' }] });
    expect(JSON.parse(String(server.requests[1]?.bytes))).to.deep.equal({
      content: Buffer.from('content of a').toString('base64'),
    });
  });

  it('submits with the time that is left after the uploads', async () => {
    server.on('POST /files/large', { status: 201, body: { name: 'a', folder: 'f' } });
    const protocol = {
      image: {
        submit: { path: '/jobs', id: '/id', images: '{name}', uploads: FORM, body: { seconds: '$seconds_left' } },
        poll: { path: '/jobs/{id}', state: '/s', states: { a: 'succeeded' }, output: { at: ['/o'] } },
      },
    } satisfies Partial<Protocol>;
    const request = submission('a');
    const uploaded = buildInputImage('a');
    const read = async () => {
      setClock({ now: () => new Date(request.deadlineAt.getTime() - 120_000) });
      return uploaded.read();
    };
    try {
      await upstream(FORM, '', protocol).submit({ ...request, images: [{ ...uploaded, read }] });
    } finally {
      setClock(systemClock);
    }
    expect(server.lastJson).to.include({ seconds: 120 });
  });

  it('sends only the submit without images', async () => {
    await upstream(FORM, '{folder}/{name}').submit(submission());
    expect(server.calls).to.deep.equal(['POST /jobs']);
  });

  for (const [what, answer, expected] of [
    ['is lost', 'drop', { fault: 'unavailable', hasResponse: false }],
    ['has no response in time', 'hang', { fault: 'unavailable', hasResponse: false }],
    ['fails', { status: 500, body: {} }, { fault: 'unavailable' }],
    ['is refused', { status: 400, body: { error: 'too large' } }, { fault: 'unavailable' }],
    [
      'comes too often',
      { status: 429, headers: { 'retry-after': '4' } },
      { fault: 'unavailable', retryAfterMs: 4_000 },
    ],
    ['returns no JSON', 'garbage', { fault: 'unavailable' }],
    ['returns one of two values', { status: 200, body: { name: 'a' } }, { fault: 'unavailable' }],
    ['has a wrong key', { status: 401, body: {} }, { fault: 'unavailable', isAccountError: true }],
    ['breaks a content rule', { status: 400, body: { code: 'nsfw' } }, { fault: 'rejected', message: NOT_ALLOWED }],
    [
      'has an image that is too small',
      { status: 400, body: { code: 'size', error: 'Too small.' } },
      { message: 'Too small.' },
    ],
  ] as const) {
    it(`submits nothing if an upload ${what}`, async () => {
      const errors: Protocol['errors'] = [
        { at: '/code', is: ['nsfw'], means: 'policy' },
        { at: '/code', is: ['size'], means: 'rejected' },
        { status: 401, means: 'account' },
      ];
      server.on('POST /files/large', answer);
      const call = upstream(FORM, '{folder}/{name}', { errors }).submit(submission('a'));
      expect(await captureUpstreamError(call)).to.include(expected);
      expect(server.calls).to.deep.equal(['POST /files/large']);
    });
  }

  it('submits nothing if an image cannot be read', async () => {
    const lost = { ...buildInputImage('a'), read: () => Promise.reject(new Error('it is not stored')) };
    const call = upstream(FORM, '{folder}/{name}').submit({ ...submission('a'), images: [lost] });
    expect(await captureUpstreamError(call)).to.include({ fault: 'unavailable' });
    expect(server.calls).to.deep.equal([]);
  });

  describe('while our storage is slow', () => {
    before(() => setTestConfig({ UPSTREAM_TIMEOUT_MS: String(scaleTimeout(200)) }));
    after(() => setTestConfig());

    it('blames an image that does not arrive on the storage: nothing was submitted', async () => {
      const stuck = { ...buildInputImage('a'), read: () => new Promise<never>(() => {}) };
      const call = upstream(FORM, '{folder}/{name}').submit({ ...submission('a'), images: [stuck] });
      const error = await captureUpstreamError(call);
      expect(error).to.include({ fault: 'unavailable', hasResponse: true });
      expect(error.message).to.match(/^An input image could not be read: .*timeout$/);
    });

    it('blames a connection that is closed meanwhile on the upstream', async () => {
      const closing = createServer((socket) => socket.once('data', () => socket.destroy())).listen(0, '127.0.0.1');
      await once(closing, 'listening');
      const stuck = { ...buildInputImage('a'), read: () => new Promise<never>(() => {}) };
      const baseUrl = `http://127.0.0.1:${(closing.address() as AddressInfo).port}`;
      const call = upstream(FORM, '{folder}/{name}', {}, baseUrl).submit({ ...submission('a'), images: [stuck] });
      expect(await captureUpstreamError(call)).to.include({ fault: 'unavailable', hasResponse: false });
      closing.close();
    });

    it('sends an image that takes longer than a request may, as long as its parts arrive', async () => {
      server.on('POST /files/large', { status: 201, body: { name: 'n', folder: 'f' } });
      const image = buildInputImage('a');
      const read = async () => sendSlowly(Buffer.alloc(image.bytes, 'x'), scaleTimeout(300));
      const call = upstream(FORM, '{folder}/{name}').submit({ ...submission('a'), images: [{ ...image, read }] });
      expect(await call).to.include({ state: 'accepted' });
    });
  });
});

/** Yields a byte at a time, all of them within a time. */
async function* sendSlowly(content: Buffer, ms: number): AsyncGenerator<Buffer> {
  for (let index = 0; index < content.length; index += 1) {
    await new Promise((resolve) => setTimeout(resolve, ms / content.length));
    yield content.subarray(index, index + 1);
  }
}
