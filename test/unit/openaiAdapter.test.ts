import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect } from 'chai';
import { setTestConfig } from '../harness/testConfig.ts';
import { scaleTimeout } from '../harness/scaleTimeout.ts';
import type { readImageResponse as ReceiveImage } from '../../shared/gateways/upstreams/imageResponse.ts';
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
const BROKE_DOWN = 'The model broke down over this job. Please try again.';
const NO_OUTPUT = { state: 'failed', message: 'The model returned no output.' } as const;

describe('the adapter for what speaks like OpenAI', () => {
  const standIn = new FakeOpenAI();
  let openaiUpstream: (route: UpstreamRoute) => Upstream;
  let receiveImage: typeof ReceiveImage;
  let folder: string;
  before(async () => {
    setTestConfig({ UPSTREAM_TIMEOUT_MS: '1000' });
    ({ openaiUpstream } = await import('../../shared/gateways/upstreams/openai.ts'));
    ({ readImageResponse: receiveImage } = await import('../../shared/gateways/upstreams/imageResponse.ts'));
    folder = await mkdtemp(join(tmpdir(), 'genmeter-openai-'));
    await standIn.start();
  });
  after(async () => {
    await standIn.stop();
    await rm(folder, { recursive: true });
  });
  beforeEach(() => standIn.reset());
  afterEach(async () => {
    for (const name of await readdir(folder)) await rm(join(folder, name));
  });

  const upstreamFor = (
    kind: ModelKind,
    settings: { baseUrl?: string; key?: string | null; takesForms?: boolean } = {},
  ) =>
    openaiUpstream({
      model: kind === 'video' ? 'vidmodel-video' : 'imgmodel-2',
      kind,
      modelId: 'some/model',
      modelSettings: { input: {} },
      upstream: {
        name: 'openai',
        adapter: 'openai',
        baseUrl: `${standIn.url}/v1`,
        key: 'test',
        concurrency: null,
        perMinute: null,
        isLocal: false,
        takesForms: false,
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
    standIn.submit = answer;
    return submitVideo();
  };
  const acceptVideo = async () => {
    standIn.outcome = 'wait';
    const asked = job();
    const handle = getHandle(await upstreamFor('video').submit(asked));
    return { handle, prompt: asked.input.prompt };
  };
  const check = (handle: UpstreamHandle) => upstreamFor('video').check(handle);
  const seen = async (body: unknown) => {
    standIn.status = { status: 200, body };
    return check({ id: 'video_1' });
  };
  const askImage = (asked = job()) => upstreamFor('image').submit(asked);
  const askImageFor = (answer: VerbatimResponse) => {
    standIn.image = answer;
    return askImage();
  };
  const receive = (chunks: Iterable<Buffer> | AsyncIterable<Buffer>, maxBytes = 1_000_000) =>
    receiveImage(Readable.from(chunks), async () => join(folder, randomUUID()), maxBytes);
  const imageIn = async (text: string, cuts: number[] = []) => {
    const bytes = Buffer.from(text);
    const ends = [0, ...cuts, bytes.length];
    const { body, image } = await receive(ends.slice(1).map((end, index) => bytes.subarray(ends[index], end)));
    return { body, image: image !== undefined && 'file' in image ? await readFile(image.file) : image };
  };
  const probe = (settings = {}) => upstreamFor('video', settings).probe();

  it('is synchronous for images, which come with the answer, and not for videos', () => {
    expect(upstreamFor('image')).to.include({ kind: 'image', isSynchronous: true });
    expect(upstreamFor('video')).to.include({ kind: 'video', isSynchronous: false });
  });

  describe('when it submits a video', () => {
    it('sends model and input as JSON, with the generation as the idempotency key', async () => {
      const asked = job({ input: { seconds: '5', size: '1280x720' } });
      const submission = await submitVideo(asked);
      const [accepted] = standIn.jobsFor(asked.input.prompt);
      expect(submission).to.deep.equal({ state: 'accepted', handle: { id: accepted?.id } });
      expect(accepted?.body).to.deep.equal({ model: 'some/model', ...asked.input });
      expect(accepted).to.include({ isForm: false, idempotencyKey: asked.generationId });
    });

    it('sends a form to who takes no JSON, with what is no text as JSON', async () => {
      const input = { seconds: '5', fps: 16, generate_sound: true, extra_params: { shift: 5, modes: ['a'] } };
      const asked = job({ input });
      await upstreamFor('video', { takesForms: true }).submit(asked);
      const [accepted] = standIn.jobsFor(asked.input.prompt);
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

    it('says nothing of a key where it has none', async () => {
      standIn.key = null;
      const upstream = upstreamFor('video', { key: null });
      const handle = getHandle(await upstream.submit(job()));
      const progress = await upstream.check(handle);
      expect(progress).to.deep.include({ state: 'succeeded' });
      expect(progress).to.have.nested.property('output.headers').that.deep.equals({});
    });

    it('ends a job at once whose receipt says that it failed', async () => {
      const body = { id: 'video_1', status: 'failed', error: { code: 'moderation_blocked', message: 'No.' } };
      expect(await submitVideoTo({ status: 200, body })).to.deep.equal({ state: 'failed', message: NOT_ALLOWED });
    });

    for (const id of [undefined, '', 5, 'with space', 'with\u0000', '.', '..', 'x'.repeat(3_000)]) {
      it(`does not know what became of a job with the id ${JSON.stringify(id)?.slice(0, 20)}`, async () => {
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
      ['nothing that is understood', { status: 400, body: '<html>' }, 'The model could not make this.'],
    ] as [string, 'refuse' | VerbatimResponse, string][]) {
      it(`is refused for ${what}`, async () => {
        standIn.submit = answer;
        expect(await captureUpstreamError(submitVideo())).to.include({ fault: 'refused', message });
      });
    }

    it('cuts down what a refusal says to what can be stored', async () => {
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
      it(`takes an answer of ${status} without a receipt for ${fault}`, async () => {
        const answer = { status, headers: { 'retry-after': '7' }, body: { error: { message: 'x' } } };
        const error = await captureUpstreamError(submitVideoTo(answer));
        expect(error).to.include({ fault, wasAnswered: true, retryAfterMs: fault === 'unavailable' ? 7_000 : 0 });
      });
    }

    it('does not blame the order for what is wrong with our account', async () => {
      for (const code of ['billing_hard_limit_reached', 'insufficient_quota']) {
        expect(await captureUpstreamError(submitVideoTo(envelope(400, { code })))).to.include({ fault: 'unavailable' });
      }
    });

    for (const how of ['hang', 'drop', 'drop after acceptance', 'garbage'] as const) {
      it(`does not know what became of a job that is answered with ${how}`, async () => {
        standIn.submit = how;
        expect(await captureUpstreamError(submitVideo())).to.include({
          fault: 'unknown',
          wasAnswered: how === 'garbage',
        });
      });
    }

    it('knows that nothing was taken where connections are refused', async () => {
      const upstream = upstreamFor('video', { baseUrl: 'http://127.0.0.1:1/v1' });
      expect(await captureUpstreamError(upstream.submit(job()))).to.include({
        fault: 'unavailable',
        wasAnswered: false,
      });
    });
  });

  describe('when it looks at a video', () => {
    it('finds it running, whatever that is called, until it is completed', async () => {
      const { handle, prompt } = await acceptVideo();
      for (const status of ['queued', 'in_progress', 'rendering'] as const) {
        standIn.end(prompt, status);
        expect(await check(handle)).to.deep.equal({ state: 'running' });
      }
      standIn.end(prompt, 'completed');
      expect(await check(handle)).to.deep.equal({
        state: 'succeeded',
        output: {
          url: `${standIn.url}/v1/videos/${encodeURIComponent(handle['id'] as string)}/content`,
          headers: { authorization: 'Bearer test' },
        },
        isWatermarked: false,
      });
    });

    it('has content at the address that needs the key', async () => {
      const { handle, prompt } = await acceptVideo();
      standIn.end(prompt, 'completed');
      const progress = await check(handle);
      if (progress.state !== 'succeeded' || !('url' in progress.output)) throw new Error('no address');
      const { url, headers } = progress.output;
      expect((await fetch(url)).status).to.equal(401);
      expect((await fetch(url, { headers })).headers.get('content-type')).to.equal('video/mp4');
    });

    for (const status of ['failed', 'cancelled', 'expired'] as const) {
      it(`finds one failed that is ${status}`, async () => {
        const { handle, prompt } = await acceptVideo();
        standIn.end(prompt, status);
        const message = status === 'failed' ? 'The stand-in was told to fail.' : 'The model could not make this.';
        expect(await check(handle)).to.deep.equal({ state: 'failed', message });
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
      [{}, 'The model could not make this.'],
      [null, 'The model could not make this.'],
    ] as const) {
      it(`says in plain words that ${JSON.stringify(error)}`, async () => {
        expect(await seen({ id: 'x', status: 'failed', error })).to.deep.equal({ state: 'failed', message });
      });
    }

    it('says so where the answer says that it is watermarked', async () => {
      const progress = await seen({ id: 'x', status: 'completed', watermarked: true });
      expect(progress).to.deep.include({ state: 'succeeded', isWatermarked: true });
    });

    it('takes an address where one is given, to which the key does not go', async () => {
      const progress = await seen({ id: 'x', status: 'completed', url: 'https://bucket.example/a.mp4' });
      expect(progress).to.have.property('output').that.deep.equals({
        url: 'https://bucket.example/a.mp4',
        headers: undefined,
      });
    });

    it('finds out that the upstream does not know it', async () => {
      expect(await captureUpstreamError(check({ id: 'nobody' }))).to.include({ fault: 'gone' });
    });

    for (const how of ['error', 'busy', 'garbage'] as const) {
      it(`gets no answer where that is ${how}`, async () => {
        standIn.status = how;
        expect(await captureUpstreamError(check({ id: 'x' }))).to.include({ fault: 'unavailable', wasAnswered: true });
      });
    }

    for (const how of ['hang', 'drop'] as const) {
      it(`can ask again after ${how}`, async () => {
        standIn.status = how;
        expect(await captureUpstreamError(check({ id: 'x' }))).to.include({ fault: 'unavailable', wasAnswered: false });
      });
    }

    it('gets no answer without the right key, nor from JSON without a status', async () => {
      const stranger = upstreamFor('video', { key: 'wrong' });
      expect(await captureUpstreamError(stranger.check({ id: 'x' }))).to.include({ fault: 'unavailable' });
      expect(await captureUpstreamError(seen({ id: 'x' }))).to.include({ fault: 'unavailable' });
    });

    it('deletes one to stop it, and minds no answer', async () => {
      const { handle, prompt } = await acceptVideo();
      await upstreamFor('video').cancel(handle);
      expect(standIn.jobsFor(prompt)[0]?.deleted).to.equal(true);
      await upstreamFor('video').cancel({ id: 'nobody' });
    });
  });

  describe('when it asks for an image', () => {
    it('sends model and input as JSON, also where videos are ordered with forms, and has the image in a file', async () => {
      const asked = job({ input: { n: 1, size: '1024x1024' } });
      const submission = await upstreamFor('image', { takesForms: true }).submit(asked);
      const [accepted] = standIn.jobsFor(asked.input.prompt);
      expect(accepted?.body).to.deep.equal({ model: 'some/model', ...asked.input });
      expect(accepted).to.include({ isForm: false, idempotencyKey: asked.generationId });
      expect(submission).to.deep.include({ state: 'succeeded', isWatermarked: false });
      expect(await readFile(getFile(submission))).to.deep.equal(PNG);
    });

    it('waits for longer than other answers may take', async () => {
      standIn.imageDelayMs = 1_500;
      expect(await askImage()).to.include({ state: 'succeeded' });
    });

    it('waits no longer than to the deadline', async () => {
      standIn.outcome = 'wait';
      const startedAt = Date.now();
      for (const deadlineMs of [500, -500]) {
        expect(await captureUpstreamError(askImage(job({ deadlineMs })))).to.include({ fault: 'unknown' });
      }
      expect(Date.now() - startedAt).to.be.below(scaleTimeout(2_000));
    });

    it('takes an address, to which the key goes where it is the own one', async () => {
      standIn.imageAs = 'url';
      const submission = await askImage();
      if (submission.state !== 'succeeded' || !('url' in submission.output)) throw new Error('no address');
      const { url, headers } = submission.output;
      expect(Buffer.from(await (await fetch(url, { headers })).arrayBuffer())).to.deep.equal(PNG);
      standIn.imageAs = 'url of another host';
      expect(await askImage()).to.deep.equal({
        state: 'succeeded',
        output: { url: `${standIn.otherUrl}/image.png`, headers: undefined },
        isWatermarked: false,
      });
      expect(await files()).to.deep.equal([]);
    });

    it('has an image in a file that was in its address', async () => {
      standIn.imageAs = 'data url';
      standIn.picture = randomBytes(100_000);
      expect(await readFile(getFile(await askImage()))).to.deep.equal(standIn.picture);
    });

    it('says so where the answer says that it is watermarked', async () => {
      const body = { data: [{ b64_json: PNG.toString('base64') }], watermarked: true };
      expect(await askImageFor({ status: 200, body })).to.deep.include({ state: 'succeeded', isWatermarked: true });
    });

    for (const data of [[], [{}], [{ b64_json: null, url: null }], [{ b64_json: '' }], [null]]) {
      it(`has no output where there is ${JSON.stringify(data)}`, async () => {
        expect(await askImageFor({ status: 200, body: { created: 1, data } })).to.deep.equal(NO_OUTPUT);
      });
    }

    it('has no output at an address that is none', async () => {
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
      it(`is refused for ${what}`, async () => {
        standIn.image = answer;
        expect(await captureUpstreamError(askImage())).to.include({ fault: 'refused', message });
      });
    }

    for (const status of [500, 502, 504, 524, 408]) {
      it(`does not know whether it was run where the answer is ${status}`, async () => {
        expect(await captureUpstreamError(askImageFor(envelope(status, { code: 'x' })))).to.include({
          fault: 'unknown',
        });
      });
    }

    for (const status of [401, 403, 404, 429, 503]) {
      it(`is not refused by ${status}, but told when to come again`, async () => {
        const error = await captureUpstreamError(
          askImageFor({ ...envelope(status, { code: 'x' }), headers: { 'retry-after': '3' } }),
        );
        expect(error).to.include({ fault: 'unavailable', wasAnswered: true, retryAfterMs: 3_000 });
      });
    }

    it('comes again where our account has no credit, which OpenAI calls a bad request', async () => {
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
      it(`does not know what became of a job that is answered with ${what}, and keeps no file`, async () => {
        expect(await captureUpstreamError(askImageFor(answer))).to.include({ fault: 'unknown' });
        expect(await files()).to.deep.equal([]);
      });
    }

    for (const how of ['drop', 'drop after acceptance', 'drop in the middle'] as const) {
      it(`does not know what became of a job after ${how}, and keeps no file`, async () => {
        standIn.image = how;
        standIn.picture = randomBytes(1_000_000);
        expect(await captureUpstreamError(askImage())).to.include({ fault: 'unknown', wasAnswered: false });
        expect(await files()).to.deep.equal([]);
      });
    }

    it('does not keep an image that comes with a refusal', async () => {
      const answer = { status: 400, body: { error: { message: 'No.' }, data: [{ b64_json: base64 }] } };
      expect(await captureUpstreamError(askImageFor(answer))).to.include({ fault: 'refused', message: 'No.' });
      expect(await files()).to.deep.equal([]);
    });

    it('brings an image of 30 MB into its file without having the answer in memory', async () => {
      const { bytes, answer, peak } = await largeAnswer('{"data":[{"b64_json":"', '"}]}');
      const submission = await askImageFor({ status: 200, body: Readable.from(answer(), { objectMode: false }) });
      expect((await stat(getFile(submission))).size).to.equal(bytes);
      // The sender, which is in this process as well, has its part in that.
      expect(peak()).to.be.within(1, 20 * 1024 * 1024);
    });
  });

  describe('when it reads an answer with an image in it', () => {
    // All signs of base64 several times, and more than what an image is told by.
    const picture = Buffer.concat([PNG, Buffer.from(Array.from({ length: 250 }, (_, index) => 255 - index))]);
    const base64 = picture.toString('base64');
    const answers: [string, string, object | undefined][] = [
      ['as it usually is', `{"created":1,"data":[{"b64_json":"${base64}","url":null}],"usage":{"n":1}}`, picture],
      ['with room', ` \r\n{ "data"\t:\n[ { "b64_json" : "${base64}" } ] } \n`, picture],
      ['with slashes that are escaped', `{"data":[{"b64_json":"${base64.replaceAll('/', '\\/')}"}]}`, picture],
      ['with signs by their numbers', `{"data":[{"b64_json":"${base64.replaceAll(/[+/=]/g, numbered)}"}]}`, picture],
      ['in lines', `{"data":[{"b64_json":"${base64.replaceAll(/.{20}/g, '$&\\r\\n')}"}]}`, picture],
      ['in the alphabet for addresses', `{"data":[{"b64_json":"${picture.toString('base64url')}"}]}`, picture],
      ['with what makes it an address', `{"data":[{"b64_json":"data:image\\/png;base64,${base64}"}]}`, picture],
      ['inside of an address', `{"data":[{"url":"data:image/png;base64,${base64}"}]}`, picture],
      ['the first of two', `{"data":[{"b64_json":"${base64}"},{"b64_json":"AAAA"}]}`, picture],
      ['after an empty one', `{"data":[{"b64_json":"","url":""},{"b64_json":"${base64}"}]}`, picture],
      [
        'after null',
        `{"data":[{"b64_json":null,"url":"https://a.example/b?c=d"}]}`,
        { url: 'https://a.example/b?c=d' },
      ],
      [
        'at an address with escapes',
        `{"data":[{"url":"https:\\/\\/a.example\\/\\u00e9é"}]}`,
        { url: 'https://a.example/éé' },
      ],
      [
        'after texts that look like it',
        `{"b64_json":"AAAA","url":"x","data":[{"text":"\\"b64_json\\":\\"AAAA\\\\","n":{"b64_json":"AAAA"},"b64_json":"${base64}"}]}`,
        picture,
      ],
      ['nowhere', '{"data":[],"b64_json":"AAAA","more":[{"b64_json":"AAAA","url":"x"}]}', undefined],
      ['nowhere, in a list', '[[{"b64_json":"AAAA"}]]', undefined],
    ];
    for (const [where, text, image] of answers) {
      it(`finds it ${where}, wherever the chunks end`, async () => {
        const length = Buffer.byteLength(text);
        const whole = await imageIn(text);
        expect(whole.image).to.deep.equal(image);
        expect(whole.body).to.be.an(text.startsWith('[') ? 'array' : 'object');
        const places = Array.from({ length: length - 1 }, (_, index) => index + 1);
        for (const place of places) expect(await imageIn(text, [place])).to.deep.equal(whole);
        expect(await imageIn(text, places)).to.deep.equal(whole);
      });
    }

    it('leaves all else of the answer as it was', async () => {
      const rest = { text: 'é "灯" \\ \u0001', list: [1, { data: [{ url: 'x' }] }], usage: null };
      const { body } = await imageIn(JSON.stringify({ ...rest, data: [{ b64_json: base64, revised: 'é' }] }));
      expect(body).to.deep.equal({ ...rest, data: [{ b64_json: '', revised: 'é' }] });
    });

    it('decodes any number of bytes', async () => {
      for (const length of [1, 2, 3, 4, 255, 256, 257, 10_000]) {
        const bytes = randomBytes(length);
        const text = JSON.stringify({ data: [{ b64_json: bytes.toString('base64') }] });
        expect((await imageIn(text, [30])).image).to.deep.equal(bytes);
      }
    });

    for (const [where, before, size] of [
      ['in the answer', '{"data":[{"b64_json":"', undefined],
      ['inside of an address', '{"data":[{"b64_json":null,"url":"data:image/png;base64,', undefined],
      ['that is not the first', `{"data":[{"b64_json":"${base64}"},{"b64_json":"`, picture.length],
    ] as const) {
      it(`holds next to nothing in memory of an image of 30 MB ${where}`, async () => {
        const { bytes, answer, peak } = await largeAnswer(before, '"}]}');
        const { image } = await receive(answer(), 100_000_000);
        if (image === undefined || !('file' in image)) throw new Error('no file');
        expect((await stat(image.file)).size).to.equal(size ?? bytes);
        expect(peak()).to.be.below(4 * 1024 * 1024);
      });
    }

    it('stops at an image that is larger than outputs may be, and keeps no file', async () => {
      let sent = 0;
      function* endless() {
        yield Buffer.from('{"data":[{"b64_json":"');
        for (; sent < 1_000; sent += 1) yield Buffer.alloc(100_000, 'A');
      }
      const problem = await receive(endless()).catch((error: Error) => error);
      expect(problem).to.include({ message: 'The output is larger than 1000000 bytes.' });
      expect(sent).to.be.below(100);
      expect(await files()).to.deep.equal([]);
    });

    it('takes nothing for an address that is endless', async () => {
      const text = JSON.stringify({ data: [{ url: `https://a.example/${'x'.repeat(10_000)}` }] });
      const problem = await imageIn(text).catch((error: Error) => error);
      expect(problem).to.be.an('error');
    });
  });

  describe('when it is probed', () => {
    it('finds an upstream well that lists its models, or says in JSON that it has no list', async () => {
      await probe();
      standIn.models = { status: 404, body: { detail: 'Not Found' } };
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
      it(`finds one unavailable that answers ${what}`, async () => {
        standIn.models = answer;
        expect(await captureUpstreamError(probe())).to.include({ fault: 'unavailable', wasAnswered: true });
      });
    }

    it('finds one unavailable that does not answer, or wants another key', async () => {
      standIn.models = 'drop';
      expect(await captureUpstreamError(probe())).to.include({ fault: 'unavailable', wasAnswered: false });
      standIn.models = undefined;
      expect(await captureUpstreamError(probe({ key: 'wrong' }))).to.include({
        fault: 'unavailable',
        wasAnswered: true,
      });
      expect(await captureUpstreamError(probe({ key: null }))).to.include({ fault: 'unavailable', wasAnswered: true });
    });
  });
});

function envelope(status: number, error: Record<string, unknown>): VerbatimResponse {
  return { status, body: { error: { type: 'invalid_request_error', message: 'x', ...error } } };
}

/** An answer with 30 MB of base64 in its middle, which is made as it is read, and what memory was in use meanwhile. */
async function largeAnswer(before: string, after: string) {
  const part = randomBytes(48 * 1024);
  const parts = 640;
  const baseline = await bytesInUse();
  let peak = 0;
  async function* answer() {
    yield Buffer.from(before);
    for (let sent = 0; sent < parts; sent += 1) {
      if (sent % 160 === 159) peak = Math.max(peak, (await bytesInUse()) - baseline);
      yield Buffer.from(part.toString('base64'));
    }
    yield Buffer.from(after);
  }
  return { bytes: parts * part.length, answer, peak: () => peak };
}

async function bytesInUse(): Promise<number> {
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  collectGarbage();
  // Buffers that nobody has any more are given back a moment later.
  await new Promise((resolve) => setTimeout(resolve, 20));
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

function numbered(sign: string): string {
  return `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`;
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
