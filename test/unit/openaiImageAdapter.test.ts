import { randomBytes, randomUUID } from 'node:crypto';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { expect } from 'chai';
import type { SubmitResult } from '../../shared/gateways/upstreams/upstream.ts';
import type { UpstreamSettings } from '../../shared/gateways/upstreams/upstreamSettings.ts';
import { FakeUpstream, isForm } from '../fakes/fakeUpstream.ts';
import { PNG, type VerbatimResponse } from '../fakes/misbehave.ts';
import { returnImagesAs } from '../fakes/openaiImages.ts';
import { createLargeResponse } from '../harness/largeResponse.ts';
import { scaleTimeout } from '../harness/scaleTimeout.ts';
import { setTestConfig } from '../harness/testConfig.ts';
import { useFolder } from '../harness/useFolder.ts';
import {
  buildSubmission,
  buildUpstream,
  captureUpstreamError,
  NO_OUTPUT,
  NOT_ALLOWED,
  useServers,
} from '../harness/upstreamAdapter.ts';

/** Bound on the memory that a response of 30 MB takes, in either direction from what was in use before. */
const PEAK_MAX_BYTES = 20 * 1024 * 1024;

describe('the OpenAI adapter for images', () => {
  const fake = new FakeUpstream('test');
  /** A second host with outputs. */
  const other = new FakeUpstream();
  const folder = useFolder({ isCleared: true });
  useServers(fake, other);

  const upstream = (settings: Partial<UpstreamSettings> = {}) =>
    buildUpstream('openai', 'image', 'some/model', { baseUrl: `${fake.url}/v1`, ...settings });

  const job = (options: { deadlineMs?: number; input?: Record<string, unknown> } = {}) =>
    buildSubmission({ ...options, newFile: async () => join(folder, randomUUID()) });
  const base64 = PNG.toString('base64');
  const files = () => readdir(folder);
  const askImage = (asked = job()) => upstream().submit(asked);
  const askImageFor = (answer: VerbatimResponse) => {
    fake.submit = answer;
    return askImage();
  };

  it('sends model and input as JSON, even if videos use form data, and writes the image to a file', async () => {
    const asked = job({ input: { n: 1, size: '1024x1024' } });
    const submission = await upstream({ acceptsForm: true }).submit(asked);
    const [accepted] = fake.jobsFor(asked.input.prompt);
    expect(accepted?.input).to.deep.equal({ model: 'some/model', ...asked.input });
    expect(accepted && isForm(accepted)).to.equal(false);
    expect(accepted?.request.headers['idempotency-key']).to.equal(asked.generationId);
    expect(submission).to.deep.include({ state: 'succeeded', isWatermarked: false });
    expect(await readFile(getFile(submission))).to.deep.equal(PNG);
  });

  it('waits longer than for other responses', async () => {
    fake.delayMs = 1_500;
    expect(await askImage()).to.include({ state: 'succeeded' });
  });

  it('waits no longer than until the deadline', async () => {
    // Keeps a connection open: one that is not made in time is `unavailable`.
    await askImage();
    fake.outcome = 'wait';
    const startedAt = Date.now();
    expect(await captureUpstreamError(askImage(job({ deadlineMs: 500 })))).to.include({ fault: 'unknown' });
    // The request may be sent within the millisecond that it gets.
    const late = await captureUpstreamError(askImage(job({ deadlineMs: -500 })));
    expect(late.fault).to.be.oneOf(['unknown', 'unavailable']);
    expect(Date.now() - startedAt).to.be.below(scaleTimeout(2_000));
  });

  it('returns an address, with the key only for the origin of the upstream', async () => {
    returnImagesAs(fake, 'url', other.url);
    const submission = await askImage();
    if (submission.state !== 'succeeded' || !('url' in submission.outputs[0])) throw new Error('no address');
    const { url } = submission.outputs[0];
    const headers = upstream().getFileHeaders(url);
    expect(headers).to.deep.equal({ authorization: 'Bearer test' });
    expect(Buffer.from(await (await fetch(url, { headers: headers ?? {} })).arrayBuffer())).to.deep.equal(PNG);
    returnImagesAs(fake, 'url of another host', other.url);
    expect(await askImage()).to.deep.equal({
      state: 'succeeded',
      outputs: [{ url: `${other.url}/files/image.png` }],
      isWatermarked: false,
    });
    expect(upstream().getFileHeaders(`${other.url}/files/image.png`)).to.equal(undefined);
    expect(await files()).to.deep.equal([]);
  });

  it('returns all images, without those that a safety filter replaced', async () => {
    const entry = { b64_json: base64 };
    const made = await askImageFor({ status: 200, body: { data: [entry, { ...entry, is_nsfw: true }, {}, entry] } });
    if (made.state !== 'succeeded') throw new Error('no output');
    expect(made.filtered).to.equal(1);
    const contents = made.outputs.map((output) => ('file' in output ? readFile(output.file) : Promise.resolve(output)));
    expect(await Promise.all(contents)).to.deep.equal([PNG, PNG]);
    expect(await files()).to.have.length(2);
    const urls = [{ url: '/files/1.png' }, { url: 'http://[' }, { url: 'https://cdn.example/2.png' }];
    expect(await askImageFor({ status: 200, body: { data: urls } })).to.deep.include({
      outputs: [{ url: `${fake.url}/files/1.png` }, { url: 'https://cdn.example/2.png' }],
    });
  });

  it('writes an image from a data URL to a file', async () => {
    returnImagesAs(fake, 'data url', other.url);
    fake.picture = randomBytes(100_000);
    expect(await readFile(getFile(await askImage()))).to.deep.equal(fake.picture);
  });

  it('returns that the output is watermarked if the response says so', async () => {
    const body = { data: [{ b64_json: PNG.toString('base64') }], watermarked: true };
    expect(await askImageFor({ status: 200, body })).to.deep.include({ state: 'succeeded', isWatermarked: true });
  });

  for (const data of [[], [{}], [{ b64_json: null, url: null }], [{ b64_json: '' }], [null]]) {
    it(`reports a missing output for ${JSON.stringify(data)}`, async () => {
      expect(await askImageFor({ status: 200, body: { created: 1, data } })).to.deep.equal(NO_OUTPUT);
    });
  }

  it('reports a missing output for an invalid address', async () => {
    expect(await askImageFor({ status: 200, body: { data: [{ url: 'http://[' }] } })).to.deep.equal(NO_OUTPUT);
  });

  for (const [what, answer, message] of [
    ['moderation', 'refuse', NOT_ALLOWED],
    ['bad input', envelope(400, { message: 'Invalid size.', code: 'invalid_value' }), 'Invalid size.'],
    ['bad input, as FastAPI says it', { status: 422, body: { detail: [{ msg: 'Field required' }] } }, 'Field required'],
  ] as [string, 'refuse' | VerbatimResponse, string][]) {
    it(`reports rejected for ${what}`, async () => {
      fake.submit = answer;
      expect(await captureUpstreamError(askImage())).to.include({ fault: 'rejected', message });
    });
  }

  for (const status of [500, 502, 504, 524, 408]) {
    it(`reports a submit of unknown outcome after ${status}`, async () => {
      expect(await captureUpstreamError(askImageFor(envelope(status, { code: 'x' })))).to.include({
        fault: 'unknown',
      });
    });
  }

  for (const status of [401, 404, 429, 503]) {
    it(`reports unavailable after ${status}, with the requested delay`, async () => {
      const error = await captureUpstreamError(
        askImageFor({ ...envelope(status, { code: 'x' }), headers: { 'retry-after': '3' } }),
      );
      expect(error).to.include({ fault: 'unavailable', hasResponse: true, retryAfterMs: 3_000 });
    });
  }

  it('reports unavailable if our account has no credit, which OpenAI reports as a bad request', async () => {
    const error = await captureUpstreamError(askImageFor(envelope(400, { code: 'billing_hard_limit_reached' })));
    expect(error).to.include({ fault: 'unavailable' });
  });

  for (const [what, answer] of [
    ['504', envelope(504, { message: 'timeout' })],
    ['no JSON', { status: 200, body: '<html>' }],
    ['nothing', { status: 200, body: '' }],
    ['JSON of another shape', { status: 200, body: { created: 1 } }],
    ['JSON that ends too early', { status: 200, body: `{"data":[{"b64_json":"${base64}"}]` }],
    ['JSON that ends inside of the image', { status: 200, body: `{"data":[{"b64_json":"${base64}` }],
    ['JSON with something behind it', { status: 200, body: `{"data":[{"b64_json":"${base64}"}]}}` }],
    ['more than it reads of what is no image', { status: 200, body: { data: [], text: 'x'.repeat(9_000_000) } }],
  ] as [string, VerbatimResponse][]) {
    it(`reports a submit of unknown outcome after ${what}, and keeps no file`, async () => {
      expect(await captureUpstreamError(askImageFor(answer))).to.include({ fault: 'unknown' });
      expect(await files()).to.deep.equal([]);
    });
  }

  for (const how of ['drop', 'drop after acceptance', 'drop in the middle'] as const) {
    it(`reports a submit of unknown outcome after the failure ${how}, and keeps no file`, async () => {
      fake.submit = how;
      fake.picture = randomBytes(1_000_000);
      expect(await captureUpstreamError(askImage())).to.include({ fault: 'unknown', hasResponse: false });
      expect(await files()).to.deep.equal([]);
    });
  }

  it('fails an image that is larger than outputs may be, and keeps no file', async () => {
    setTestConfig({ UPSTREAM_TIMEOUT_MS: '1000', MEDIA_MAX_BYTES: '1000000' });
    fake.picture = Buffer.alloc(1_200_000);
    const result = await askImage();
    setTestConfig({ UPSTREAM_TIMEOUT_MS: '1000' });
    expect(result).to.deep.equal({ state: 'failed', message: 'The model returned no usable output.' });
    expect(await files()).to.deep.equal([]);
  });

  it('deletes an image that comes with a rejection', async () => {
    const answer = { status: 400, body: { error: { message: 'No.' }, data: [{ b64_json: base64 }] } };
    expect(await captureUpstreamError(askImageFor(answer))).to.include({ fault: 'rejected', message: 'No.' });
    expect(await files()).to.deep.equal([]);
  });

  it('streams an image of 30 MB to its file without holding the response in memory', async () => {
    const { bytes, chunks, peak } = await createLargeResponse('{"data":[{"b64_json":"', '"}]}');
    const submission = await askImageFor({ status: 200, body: Readable.from(chunks(), { objectMode: false }) });
    expect((await stat(getFile(submission))).size).to.equal(bytes);
    // Includes the memory of the sender, which runs in this process as well.
    expect(peak()).to.be.within(-PEAK_MAX_BYTES, PEAK_MAX_BYTES);
  });
});

function envelope(status: number, error: Record<string, unknown>): VerbatimResponse {
  return { status, body: { error: { type: 'invalid_request_error', message: 'x', ...error } } };
}

function getFile(submission: SubmitResult): string {
  if (submission.state === 'succeeded' && 'file' in submission.outputs[0]) return submission.outputs[0].file;
  throw new Error(`No file: ${JSON.stringify(submission)}`);
}
