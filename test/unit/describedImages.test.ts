import { randomUUID } from 'node:crypto';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { expect } from 'chai';
import type { Protocol, ProtocolOutput } from '../../shared/gateways/upstreams/described/protocol.ts';
import type { SubmitResult } from '../../shared/gateways/upstreams/upstream.ts';
import { PNG, type VerbatimResponse } from '../fakes/misbehave.ts';
import { ScriptedServer } from '../fakes/scriptedServer.ts';
import {
  buildSubmission,
  buildUpstream,
  captureUpstreamError,
  NO_OUTPUT,
  NOT_ALLOWED,
  useServers,
} from '../harness/upstreamAdapter.ts';
import { setTestConfig } from '../harness/testConfig.ts';
import { useFolder } from '../harness/useFolder.ts';

const BASE64 = PNG.toString('base64');

const bytes = (headers: Record<string, string> = {}, content: Buffer = PNG): VerbatimResponse => ({
  status: 200,
  headers: { 'content-type': 'image/png', ...headers },
  body: Readable.from([content]),
});
const megabytes = (count: number) => Array<Buffer>(count).fill(Buffer.alloc(1_000_000, 'A'));
const readOutput = async (result: SubmitResult) => {
  if (result.state !== 'succeeded' || !('file' in result.outputs[0])) throw new Error(JSON.stringify(result));
  return readFile(result.outputs[0].file);
};
const image = (data: unknown, more: object = {}) => ({
  status: 200,
  body: { images: [{ content: { data } }], ...more },
});

describe('a described upstream whose response is the output', () => {
  const server = new ScriptedServer();
  const folder = useFolder({ isCleared: true });
  useServers(server);

  const upstream = (output: ProtocolOutput, protocol: Partial<Protocol> = {}) =>
    buildUpstream('http', 'image', 'core', {
      baseUrl: server.url,
      protocol: {
        auth: { type: 'bearer' },
        errors: [
          { at: 'header:finish-reason', is: ['CONTENT_FILTERED'], means: 'policy' },
          { at: '/blockReason', means: 'policy' },
        ],
        error_text: ['/errors/*'],
        probe: { path: '/health' },
        image: { submit: { path: '/make', output, price: { at: '/cost', cents: 1 } } },
        ...protocol,
      },
    });
  const request = (deadlineMs?: number) =>
    buildSubmission({
      ...(deadlineMs === undefined ? {} : { deadlineMs }),
      newFile: async () => join(folder, randomUUID()),
    });
  const submit = (output: ProtocolOutput, answer: VerbatimResponse, protocol: Partial<Protocol> = {}) => {
    server.on('POST /make', answer);
    return upstream(output, protocol).submit(request());
  };
  const inList: ProtocolOutput = { at: ['/images/*/content/data'], as: 'base64' };

  it('is synchronous', () => {
    expect(upstream({}).isSynchronous).to.equal(true);
  });

  it('writes the response, or base64 inside of it, to a file', async () => {
    expect(await readOutput(await submit({}, bytes()))).to.deep.equal(PNG);
    expect(await readOutput(await submit(inList, image(BASE64)))).to.deep.equal(PNG);
    expect(await readOutput(await submit(inList, image(`data:image/png;base64,${BASE64}`)))).to.deep.equal(PNG);
    const plain = { status: 200, body: { name: 'x', data: [], image: BASE64, data2: 'AAAA' } };
    expect(await readOutput(await submit({ at: ['/image'], as: 'base64' }, plain))).to.deep.equal(PNG);
  });

  it('takes the images that are not empty, and reports the price', async () => {
    const body = {
      images: [{ content: { text: 'a' } }, { content: { data: BASE64 } }, { content: { data: 'AAAA' } }],
      cost: 4,
    };
    const result = await submit(inList, { status: 200, body });
    expect(await readOutput(result)).to.deep.equal(PNG);
    expect(result).to.include({ costCents: 4 });
    expect('outputs' in result ? result.outputs : []).to.have.length(2);
    expect(await readdir(folder)).to.have.length(2);
  });

  it('leaves out an image that a safety filter replaced, and keeps no file of it', async () => {
    const images = [{ content: { data: 'AAAA' } }, { content: { data: BASE64 } }];
    const result = await submit(inList, { status: 200, body: { images, has_nsfw_concepts: [true, false] } });
    expect(await readOutput(result)).to.deep.equal(PNG);
    expect(result).to.include({ filtered: 1 });
    expect(await readdir(folder)).to.have.length(1);
  });

  it('returns an address', async () => {
    const output: ProtocolOutput = { at: ['/data/*/url'], expires_seconds: 3_600 };
    const expected = {
      state: 'succeeded',
      isWatermarked: false,
      outputs: [{ url: 'https://cdn/a' }, { url: 'https://cdn/b' }],
      expiresInMs: 3_600_000,
    };
    const body = { data: [{ url: 'https://cdn/a' }, { url: 'https://cdn/b' }], cost: 2 };
    expect(await submit(output, { status: 200, body })).to.deep.equal({ ...expected, costCents: 2 });
  });

  it('reports an output that the content policy does not allow, and keeps no file of it', async () => {
    for (const [output, answer] of [
      [{}, bytes({ 'finish-reason': 'CONTENT_FILTERED' })],
      [inList, image(BASE64, { blockReason: 'SAFETY' })],
      [inList, { status: 200, body: { images: [], blockReason: 'SAFETY' } }],
      [{}, { status: 403, body: { message: 'Flagged by our moderation.' } }],
    ] as const)
      expect(await captureUpstreamError(submit(output, answer))).to.include({
        fault: 'rejected',
        message: NOT_ALLOWED,
      });
    const filtered = await submit(inList, image(BASE64, { finish_reason: 'SAFETY' }));
    expect(filtered).to.deep.equal({ state: 'failed', message: NOT_ALLOWED });
    expect(await readdir(folder)).to.deep.equal([]);
  });

  it('reports a response with a place for outputs and none in it', async () => {
    for (const body of [{ images: [] }, { images: [{ content: { text: 'I cannot draw.' } }] }, { images: [{}] }])
      expect(await submit(inList, { status: 200, body })).to.deep.equal(NO_OUTPUT);
    expect(await submit({ at: ['/data/*'] }, { status: 200, body: { data: [] } })).to.deep.equal(NO_OUTPUT);
  });

  for (const [what, output, answer, fault] of [
    ['400 with a reason', {}, { status: 400, body: { errors: ['Too small.', 'Too dark.'] } }, 'rejected'],
    ['429', {}, { status: 429, headers: { 'retry-after': '3' }, body: {} }, 'unavailable'],
    ['503', {}, { status: 503, body: {} }, 'unavailable'],
    ['500, after which it may have run', {}, { status: 500, body: {} }, 'unknown'],
    ['JSON instead of a file', {}, { status: 200, body: {} }, 'unknown'],
    ['HTML instead of a file', {}, { ...image(''), headers: { 'content-type': 'text/html' } }, 'unknown'],
    ['JSON without the field', inList, { status: 200, body: {} }, 'unknown'],
    ['HTML instead of JSON', inList, { status: 200, body: '<html>' }, 'unknown'],
  ] as const) {
    it(`reports ${fault} for ${what}`, async () => {
      expect(await captureUpstreamError(submit(output, answer))).to.include({ fault });
      expect(await readdir(folder)).to.deep.equal([]);
    });
  }

  for (const answer of ['drop', 'hang'] as const) {
    it(`reports a submit of unknown outcome after ${answer}`, async () => {
      server.on('POST /make', answer);
      expect(await captureUpstreamError(upstream({}).submit(request(800)))).to.include({ fault: 'unknown' });
    });
  }

  it('reports a submit of unknown outcome if the file breaks off, and keeps nothing of it', async () => {
    const broken = Readable.from(
      (async function* () {
        yield PNG.subarray(0, 20);
        throw new Error('broken on purpose');
      })(),
    );
    broken.on('error', () => {});
    const answer = { ...bytes({ 'content-length': String(PNG.length) }), body: broken };
    server.on('POST /make', answer);
    expect(await captureUpstreamError(upstream({}).submit(request(800)))).to.include({ fault: 'unknown' });
    expect(await readdir(folder)).to.deep.equal([]);
  });

  const largeAnswers: [string, ProtocolOutput, () => VerbatimResponse][] = [
    ['a file of 68 MB', {}, () => ({ ...bytes(), body: Readable.from(megabytes(68)) })],
    [
      'base64 of 68 MB',
      { at: ['/data'], as: 'base64' },
      () => ({
        ...bytes({ 'content-type': 'application/json' }),
        body: Readable.from([Buffer.from('{"data":"'), ...megabytes(91), Buffer.from('"}')]),
      }),
    ],
  ];
  for (const [what, output, answer] of largeAnswers) {
    it(`fails ${what} as an image, and takes it as a video`, async () => {
      setTestConfig({ UPSTREAM_SYNC_TIMEOUT_MS: '30000' });
      expect(await submit(output, answer())).to.include({ message: 'The model returned no usable output.' });
      expect(await readdir(folder)).to.deep.equal([]);
      server.on('POST /make', answer());
      const protocol: Protocol = { auth: { type: 'bearer' }, probe: { path: '/health' } };
      const video = { submit: { path: '/make', output } };
      const settings = { baseUrl: server.url, protocol: { ...protocol, video } };
      const made = await buildUpstream('http', 'video', 'core', settings).submit(request());
      expect(made).to.include({ state: 'succeeded' });
      const [name = ''] = await readdir(folder);
      expect((await stat(join(folder, name))).size).to.be.above(64 * 1024 * 1024);
    });
  }

  it('fails an output that is larger than outputs may be', async () => {
    setTestConfig({ UPSTREAM_TIMEOUT_MS: '1000', MEDIA_MAX_BYTES: '1000000' });
    const large = Buffer.alloc(1_200_000);
    for (const [output, answer] of [
      [{}, bytes({}, large)],
      [inList, image(large.toString('base64'))],
    ] as const) {
      const expected = { state: 'failed', message: 'The model returned no usable output.' };
      expect(await submit(output, answer)).to.deep.equal(expected);
    }
    expect(await readdir(folder)).to.deep.equal([]);
  });
});
