import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { expect } from 'chai';
import { createLargeResponse } from '../harness/largeResponse.ts';
import { setTestConfig } from '../harness/testConfig.ts';
import { scaleTimeout } from '../harness/scaleTimeout.ts';
import type { UpstreamRoute } from '../../shared/gateways/upstreams/upstreamConfig.ts';
import type {
  SubmitResult,
  Upstream,
  UpstreamError,
  UpstreamHandle,
} from '../../shared/gateways/upstreams/upstream.ts';
import type { ModelKind } from '../../shared/spec/catalog.ts';
import { PNG } from '../fakes/misbehave.ts';
import { FakeOpenAI, type VerbatimResponse } from '../fakes/upstreams/openai.ts';

const NOT_ALLOWED = "The model's content policy does not allow this. Please change the prompt and try again.";
const BROKE_DOWN = 'The model failed while generating. Please try again.';
const NO_OUTPUT = { state: 'failed', message: 'The model returned no output.' } as const;

describe('the OpenAI adapter', () => {
  const fake = new FakeOpenAI();
  let openaiUpstream: (route: UpstreamRoute) => Upstream;
  let folder: string;
  before(async () => {
    setTestConfig({ UPSTREAM_TIMEOUT_MS: '1000' });
    ({ openaiUpstream } = await import('../../shared/gateways/upstreams/openai.ts'));
    folder = await mkdtemp(join(tmpdir(), 'genmeter-openai-'));
    await fake.start();
  });
  after(async () => {
    await fake.stop();
    await rm(folder, { recursive: true });
  });
  beforeEach(() => fake.reset());
  afterEach(async () => {
    for (const name of await readdir(folder)) await rm(join(folder, name));
  });

  const upstreamFor = (
    kind: ModelKind,
    settings: { baseUrl?: string; key?: string | null; acceptsForm?: boolean } = {},
  ) =>
    openaiUpstream({
      model: kind === 'video' ? 'vidmodel-video' : 'imgmodel-2',
      kind,
      modelId: 'some/model',
      modelSettings: { input: {} },
      upstream: {
        name: 'openai',
        adapter: 'openai',
        baseUrl: `${fake.url}/v1`,
        key: 'test',
        concurrency: null,
        perMinute: null,
        isLocal: false,
        acceptsForm: false,
        ...settings,
      },
    });

  const job = ({ deadlineMs = 60_000, input = {} } = {}) => ({
    generationId: randomUUID(),
    input: { prompt: `a "lighthouse"\r\n${randomUUID()} é 灯`, ...input },
    deadlineAt: new Date(Date.now() + deadlineMs),
    newFile: async () => join(folder, randomUUID()),
  });

  const files = () => readdir(folder);

  const submitVideo = (asked = job()) => upstreamFor('video').submit(asked);
  const submitVideoTo = (answer: VerbatimResponse) => {
    fake.submit = answer;
    return submitVideo();
  };
  const acceptVideo = async () => {
    fake.outcome = 'wait';
    const asked = job();
    const handle = getHandle(await upstreamFor('video').submit(asked));
    return { handle, prompt: asked.input.prompt };
  };
  const poll = (handle: UpstreamHandle) => upstreamFor('video').poll(handle);
  const seen = async (body: unknown) => {
    fake.status = { status: 200, body };
    return poll({ id: 'video_1' });
  };
  const askImage = (asked = job()) => upstreamFor('image').submit(asked);
  const askImageFor = (answer: VerbatimResponse) => {
    fake.image = answer;
    return askImage();
  };
  const probe = (settings = {}) => upstreamFor('video', settings).probe();

  it('is synchronous for images, which come with the response, and asynchronous for videos', () => {
    expect(upstreamFor('image')).to.include({ kind: 'image', isSynchronous: true });
    expect(upstreamFor('video')).to.include({ kind: 'video', isSynchronous: false });
  });

  describe('submit of a video', () => {
    it('sends model and input as JSON, with the generation as the idempotency key', async () => {
      const asked = job({ input: { seconds: '5', size: '1280x720' } });
      const submission = await submitVideo(asked);
      const [accepted] = fake.jobsFor(asked.input.prompt);
      expect(submission).to.deep.equal({ state: 'accepted', handle: { id: accepted?.id } });
      expect(accepted?.body).to.deep.equal({ model: 'some/model', ...asked.input });
      expect(accepted).to.include({ isForm: false, idempotencyKey: asked.generationId });
    });

    it('sends form data if configured, with values that are not strings as JSON', async () => {
      const input = { seconds: '5', fps: 16, generate_sound: true, extra_params: { shift: 5, modes: ['a'] } };
      const asked = job({ input });
      await upstreamFor('video', { acceptsForm: true }).submit(asked);
      const [accepted] = fake.jobsFor(asked.input.prompt);
      expect(accepted).to.include({ isForm: true, idempotencyKey: asked.generationId });
      expect(accepted?.body).to.deep.equal({
        model: 'some/model',
        prompt: asked.input.prompt,
        seconds: '5',
        fps: '16',
        generate_sound: 'true',
        extra_params: '{"shift":5,"modes":["a"]}',
      });
    });

    it('sends no authorization header without a key', async () => {
      fake.key = null;
      const upstream = upstreamFor('video', { key: null });
      const handle = getHandle(await upstream.submit(job()));
      const progress = await upstream.poll(handle);
      expect(progress).to.deep.include({ state: 'succeeded' });
      expect(progress).to.have.nested.property('output.headers').that.deep.equals({});
    });

    it('returns failed if the response to the submit says so', async () => {
      const body = { id: 'video_1', status: 'failed', error: { code: 'moderation_blocked', message: 'No.' } };
      expect(await submitVideoTo({ status: 200, body })).to.deep.equal({ state: 'failed', message: NOT_ALLOWED });
    });

    for (const id of [undefined, '', 5, 'with space', 'with\u0000', '.', '..', 'x'.repeat(3_000)]) {
      it(`reports a submit of unknown outcome for the id ${JSON.stringify(id)?.slice(0, 20)}`, async () => {
        expect(await captureUpstreamError(submitVideoTo({ status: 200, body: { id, status: 'queued' } }))).to.include({
          fault: 'unknown',
        });
      });
    }

    for (const [what, answer, message] of [
      ['moderation', 'refuse', NOT_ALLOWED],
      ['a policy with another status', envelope(403, { code: 'content_policy_violation' }), NOT_ALLOWED],
      ['a policy named by its type', envelope(422, { type: 'content_filter', code: null }), NOT_ALLOWED],
      ['bad input', envelope(400, { message: 'Invalid seconds.', code: 'invalid_value' }), 'Invalid seconds.'],
      [
        'bad input, as FastAPI says it',
        { status: 422, body: { detail: [{ msg: 'Field required' }] } },
        'Field required',
      ],
      ['bad input, in a sentence', { status: 400, body: { detail: 'Model mismatch.' } }, 'Model mismatch.'],
      ['an error that is a text', { status: 400, body: { error: 'No.' } }, 'No.'],
      ['nothing that is understood', { status: 400, body: '<html>' }, 'The model could not generate this.'],
    ] as [string, 'refuse' | VerbatimResponse, string][]) {
      it(`reports rejected for ${what}`, async () => {
        fake.submit = answer;
        expect(await captureUpstreamError(submitVideo())).to.include({ fault: 'rejected', message });
      });
    }

    it('truncates the message of a rejection to what can be stored', async () => {
      const error = await captureUpstreamError(
        submitVideoTo(envelope(400, { message: `a\u0000b${'x'.repeat(1_000)}\ud800` })),
      );
      expect(error.message).to.match(/^abx{498}$/);
    });

    for (const [status, fault] of [
      [401, 'unavailable'],
      [403, 'unavailable'],
      [404, 'unavailable'],
      [429, 'unavailable'],
      [500, 'unavailable'],
      [502, 'unavailable'],
      [503, 'unavailable'],
      [504, 'unknown'],
      [200, 'unknown'],
      [301, 'unavailable'],
      [408, 'unknown'],
      [524, 'unknown'],
    ] as const) {
      it(`reports ${fault} for status ${status} without a video id`, async () => {
        const answer = { status, headers: { 'retry-after': '7' }, body: { error: { message: 'x' } } };
        const error = await captureUpstreamError(submitVideoTo(answer));
        expect(error).to.include({ fault, hasResponse: true, retryAfterMs: fault === 'unavailable' ? 7_000 : 0 });
      });
    }

    it('reports an account error instead of an invalid request', async () => {
      for (const code of ['billing_hard_limit_reached', 'insufficient_quota']) {
        expect(await captureUpstreamError(submitVideoTo(envelope(400, { code })))).to.include({ fault: 'unavailable' });
      }
    });

    for (const how of ['hang', 'drop', 'drop after acceptance', 'garbage'] as const) {
      it(`reports a submit of unknown outcome after ${how}`, async () => {
        fake.submit = how;
        expect(await captureUpstreamError(submitVideo())).to.include({
          fault: 'unknown',
          hasResponse: how === 'garbage',
        });
      });
    }

    it('reports unavailable if the connection is refused', async () => {
      const upstream = upstreamFor('video', { baseUrl: 'http://127.0.0.1:1/v1' });
      expect(await captureUpstreamError(upstream.submit(job()))).to.include({
        fault: 'unavailable',
        hasResponse: false,
      });
    });
  });

  describe('poll of a video', () => {
    it('reports running for every other status until the video is completed', async () => {
      const { handle, prompt } = await acceptVideo();
      for (const status of ['queued', 'in_progress', 'rendering'] as const) {
        fake.end(prompt, status);
        expect(await poll(handle)).to.deep.equal({ state: 'running' });
      }
      fake.end(prompt, 'completed');
      expect(await poll(handle)).to.deep.equal({
        state: 'succeeded',
        output: {
          url: `${fake.url}/v1/videos/${encodeURIComponent(handle['id'] as string)}/content`,
          headers: { authorization: 'Bearer test' },
        },
        isWatermarked: false,
      });
    });

    it('returns the content address with the key', async () => {
      const { handle, prompt } = await acceptVideo();
      fake.end(prompt, 'completed');
      const progress = await poll(handle);
      if (progress.state !== 'succeeded' || !('url' in progress.output)) throw new Error('no address');
      const { url, headers } = progress.output;
      expect((await fetch(url)).status).to.equal(401);
      expect((await fetch(url, { headers })).headers.get('content-type')).to.equal('video/mp4');
    });

    for (const status of ['failed', 'cancelled', 'expired'] as const) {
      it(`reports failed for the status ${status}`, async () => {
        const { handle, prompt } = await acceptVideo();
        fake.end(prompt, status);
        const message = status === 'failed' ? 'The fake was set to fail.' : 'The model could not generate this.';
        expect(await poll(handle)).to.deep.equal({ state: 'failed', message });
      });
    }

    for (const [error, message] of [
      [{ code: 'moderation_blocked', message: 'safety_violations=[sexual]' }, NOT_ALLOWED],
      [{ code: 'content_policy_violation', message: '' }, NOT_ALLOWED],
      [{ code: 'server_error', message: 'oops' }, BROKE_DOWN],
      [{ code: 'internal_error', message: 'oops' }, BROKE_DOWN],
      [{ code: 500, message: 'CUDA out of memory' }, BROKE_DOWN],
      [{ code: null, type: 'InternalServerError', message: 'Traceback' }, BROKE_DOWN],
      [{ code: 400, message: 'Too many frames.' }, 'Too many frames.'],
      [{ message: 'No such style.' }, 'No such style.'],
      [{}, 'The model could not generate this.'],
      [null, 'The model could not generate this.'],
    ] as const) {
      it(`translates ${JSON.stringify(error)} into a customer message`, async () => {
        expect(await seen({ id: 'x', status: 'failed', error })).to.deep.equal({ state: 'failed', message });
      });
    }

    it('returns that the output is watermarked if the response says so', async () => {
      const progress = await seen({ id: 'x', status: 'completed', watermarked: true });
      expect(progress).to.deep.include({ state: 'succeeded', isWatermarked: true });
    });

    it('returns an address in the response without the key', async () => {
      const progress = await seen({ id: 'x', status: 'completed', url: 'https://bucket.example/a.mp4' });
      expect(progress).to.have.property('output').that.deep.equals({
        url: 'https://bucket.example/a.mp4',
        headers: undefined,
      });
    });

    it('reports gone for a video that the upstream does not have', async () => {
      expect(await captureUpstreamError(poll({ id: 'missing' }))).to.include({ fault: 'gone' });
    });

    for (const how of ['error', 'busy', 'garbage'] as const) {
      it(`reports unavailable for the response ${how}`, async () => {
        fake.status = how;
        expect(await captureUpstreamError(poll({ id: 'x' }))).to.include({ fault: 'unavailable', hasResponse: true });
      });
    }

    for (const how of ['hang', 'drop'] as const) {
      it(`reports unavailable after ${how}`, async () => {
        fake.status = how;
        expect(await captureUpstreamError(poll({ id: 'x' }))).to.include({ fault: 'unavailable', hasResponse: false });
      });
    }

    it('reports unavailable with a wrong key, and for JSON without a status', async () => {
      const stranger = upstreamFor('video', { key: 'wrong' });
      expect(await captureUpstreamError(stranger.poll({ id: 'x' }))).to.include({ fault: 'unavailable' });
      expect(await captureUpstreamError(seen({ id: 'x' }))).to.include({ fault: 'unavailable' });
    });

    it('cancels a video by deleting it, and ignores the response', async () => {
      const { handle, prompt } = await acceptVideo();
      await upstreamFor('video').cancel(handle);
      expect(fake.jobsFor(prompt)[0]?.deleted).to.equal(true);
      await upstreamFor('video').cancel({ id: 'missing' });
    });
  });

  describe('submit of an image', () => {
    it('sends model and input as JSON, even if videos use form data, and writes the image to a file', async () => {
      const asked = job({ input: { n: 1, size: '1024x1024' } });
      const submission = await upstreamFor('image', { acceptsForm: true }).submit(asked);
      const [accepted] = fake.jobsFor(asked.input.prompt);
      expect(accepted?.body).to.deep.equal({ model: 'some/model', ...asked.input });
      expect(accepted).to.include({ isForm: false, idempotencyKey: asked.generationId });
      expect(submission).to.deep.include({ state: 'succeeded', isWatermarked: false });
      expect(await readFile(getFile(submission))).to.deep.equal(PNG);
    });

    it('waits longer than for other responses', async () => {
      fake.imageDelayMs = 1_500;
      expect(await askImage()).to.include({ state: 'succeeded' });
    });

    it('waits no longer than until the deadline', async () => {
      fake.outcome = 'wait';
      const startedAt = Date.now();
      for (const deadlineMs of [500, -500]) {
        expect(await captureUpstreamError(askImage(job({ deadlineMs })))).to.include({ fault: 'unknown' });
      }
      expect(Date.now() - startedAt).to.be.below(scaleTimeout(2_000));
    });

    it('returns an address, with the key only for the origin of the upstream', async () => {
      fake.imageAs = 'url';
      const submission = await askImage();
      if (submission.state !== 'succeeded' || !('url' in submission.output)) throw new Error('no address');
      const { url, headers } = submission.output;
      expect(Buffer.from(await (await fetch(url, { headers })).arrayBuffer())).to.deep.equal(PNG);
      fake.imageAs = 'url of another host';
      expect(await askImage()).to.deep.equal({
        state: 'succeeded',
        output: { url: `${fake.otherUrl}/image.png`, headers: undefined },
        isWatermarked: false,
      });
      expect(await files()).to.deep.equal([]);
    });

    it('writes an image from a data URL to a file', async () => {
      fake.imageAs = 'data url';
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
      [
        'bad input, as FastAPI says it',
        { status: 422, body: { detail: [{ msg: 'Field required' }] } },
        'Field required',
      ],
    ] as [string, 'refuse' | VerbatimResponse, string][]) {
      it(`reports rejected for ${what}`, async () => {
        fake.image = answer;
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

    for (const status of [401, 403, 404, 429, 503]) {
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

    const base64 = PNG.toString('base64');
    for (const [what, answer] of [
      ['504', envelope(504, { message: 'timeout' })],
      ['no JSON', { status: 200, body: '<html>' }],
      ['nothing', { status: 200, body: '' }],
      ['JSON of another shape', { status: 200, body: { created: 1 } }],
      ['JSON that ends too early', { status: 200, body: `{"data":[{"b64_json":"${base64}"}]` }],
      ['JSON that ends inside of the image', { status: 200, body: `{"data":[{"b64_json":"${base64}` }],
      ['JSON with something behind it', { status: 200, body: `{"data":[{"b64_json":"${base64}"}]}}` }],
      ['more than it reads of what is no image', { status: 200, body: { data: [], text: 'x'.repeat(2_000_000) } }],
    ] as [string, VerbatimResponse][]) {
      it(`reports a submit of unknown outcome after ${what}, and keeps no file`, async () => {
        expect(await captureUpstreamError(askImageFor(answer))).to.include({ fault: 'unknown' });
        expect(await files()).to.deep.equal([]);
      });
    }

    for (const how of ['drop', 'drop after acceptance', 'drop in the middle'] as const) {
      it(`reports a submit of unknown outcome after the failure ${how}, and keeps no file`, async () => {
        fake.image = how;
        fake.picture = randomBytes(1_000_000);
        expect(await captureUpstreamError(askImage())).to.include({ fault: 'unknown', hasResponse: false });
        expect(await files()).to.deep.equal([]);
      });
    }

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
      expect(peak()).to.be.within(1, 20 * 1024 * 1024);
    });
  });

  describe('probe', () => {
    it('succeeds if the upstream lists its models, or responds in JSON that it has no list', async () => {
      await probe();
      fake.models = { status: 404, body: { detail: 'Not Found' } };
      await probe();
    });

    for (const [what, answer] of [
      ['404 without JSON', { status: 404, body: '404 page not found' }],
      ['401', envelope(401, { code: 'invalid_api_key' })],
      ['500', 'error'],
      ['429', 'busy'],
      ['a page', 'garbage'],
      ['JSON that is no object', { status: 200, body: '"ok"' }],
    ] as const) {
      it(`fails for the response ${what}`, async () => {
        fake.models = answer;
        expect(await captureUpstreamError(probe())).to.include({ fault: 'unavailable', hasResponse: true });
      });
    }

    it('fails without a response, and with a wrong key', async () => {
      fake.models = 'drop';
      expect(await captureUpstreamError(probe())).to.include({ fault: 'unavailable', hasResponse: false });
      fake.models = undefined;
      expect(await captureUpstreamError(probe({ key: 'wrong' }))).to.include({
        fault: 'unavailable',
        hasResponse: true,
      });
      expect(await captureUpstreamError(probe({ key: null }))).to.include({ fault: 'unavailable', hasResponse: true });
    });
  });
});

function envelope(status: number, error: Record<string, unknown>): VerbatimResponse {
  return { status, body: { error: { type: 'invalid_request_error', message: 'x', ...error } } };
}

function getHandle(submission: SubmitResult): UpstreamHandle {
  if (submission.state !== 'accepted') throw new Error(`Not accepted: ${JSON.stringify(submission)}`);
  return submission.handle;
}

function getFile(submission: SubmitResult): string {
  if (submission.state === 'succeeded' && 'file' in submission.output) return submission.output.file;
  throw new Error(`No file: ${JSON.stringify(submission)}`);
}

async function captureUpstreamError(attempt: Promise<unknown>): Promise<UpstreamError> {
  try {
    await attempt;
  } catch (error) {
    expect((error as Error).name).to.equal('UpstreamError');
    return error as UpstreamError;
  }
  throw new Error('Nothing went wrong.');
}
