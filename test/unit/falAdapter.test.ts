import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { setTestConfig } from '../harness/testConfig.ts';
import type { UpstreamRoute } from '../../shared/gateways/upstreams/upstreamConfig.ts';
import type { Upstream, UpstreamError, UpstreamHandle } from '../../shared/gateways/upstreams/upstream.ts';
import { readTextBody } from '../fakes/misbehave.ts';
import { FakeFal } from '../fakes/upstreams/fal.ts';

const NOT_ALLOWED = "The model's content policy does not allow this. Please change the prompt and try again.";
const BROKE_DOWN = 'The model failed while generating. Please try again.';
const TOOK_TOO_LONG = 'The model took too long. Please try again.';

/** Error types of fal and the messages that customers see. */
const FAILURE_MESSAGES: Record<string, string> = {
  content_policy_violation: NOT_ALLOWED,
  no_media_generated: 'The model could not generate what was asked for. Please change the prompt and try again.',
  generation_timeout: TOOK_TOO_LONG,
  request_timeout: TOOK_TOO_LONG,
  startup_timeout: TOOK_TOO_LONG,
  client_cancelled: 'The generation was cancelled.',
  downstream_service_error: BROKE_DOWN,
  downstream_service_unavailable: BROKE_DOWN,
  internal_server_error: BROKE_DOWN,
  internal_error: BROKE_DOWN,
  runner_scheduling_failure: BROKE_DOWN,
  runner_connection_timeout: BROKE_DOWN,
  runner_disconnected: BROKE_DOWN,
  runner_connection_refused: BROKE_DOWN,
  runner_connection_error: BROKE_DOWN,
  runner_incomplete_response: BROKE_DOWN,
  runner_server_error: BROKE_DOWN,
};

interface Verbatim {
  status: number;
  headers?: Record<string, string>;
  body?: unknown;
}

/** Serves configured responses verbatim, and 404 for any other path. */
class VerbatimServer {
  readonly answers = new Map<string, Verbatim>();
  readonly requests: { what: string; authorization: string | undefined }[] = [];
  url = '';
  private readonly server = createServer((request, response) => {
    void this.serve(request, response);
  });

  async start(): Promise<void> {
    this.server.listen(0, '127.0.0.1');
    await once(this.server, 'listening');
    this.url = `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.server.close();
    this.server.closeAllConnections();
    await once(this.server, 'close');
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    await readTextBody(request);
    const what = `${request.method} ${request.url}`;
    this.requests.push({ what, authorization: request.headers.authorization });
    const { status, headers, body } = this.answers.get(what) ?? { status: 404, body: { detail: 'Not found' } };
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  }
}

const SUBMIT = 'POST /owner/app/text-to-video';
const STATUS = 'GET /owner/app/requests/r1/status';
const RESULT = 'GET /owner/app/requests/r1';
const CANCEL = 'PUT /owner/app/requests/r1/cancel';
const PROBE = 'GET /owner/app/requests/00000000-0000-0000-0000-000000000000/status';

describe('the fal adapter', () => {
  const parrot = new VerbatimServer();
  /** A server at another origin. */
  const stranger = new VerbatimServer();
  let falUpstream: (route: UpstreamRoute) => Upstream;
  let defaultRouteOf: (model: UpstreamRoute['model'], upstreamUrl: string) => UpstreamRoute;
  let inputOf: typeof import('../../shared/gateways/upstreams/upstreamConfig.ts').buildUpstreamInput;
  before(async () => {
    setTestConfig({ UPSTREAM_TIMEOUT_MS: '1000' });
    ({ falUpstream } = await import('../../shared/gateways/upstreams/fal.ts'));
    const settings = await import('../../shared/gateways/upstreams/upstreamConfig.ts');
    const { parseConfig } = await import('../../shared/lib/config.ts');
    inputOf = settings.buildUpstreamInput;
    defaultRouteOf = (model, upstreamUrl) => {
      const env = { DATABASE_URL: 'postgres://host/name', REDIS_URL: 'redis://host' };
      const config = parseConfig({ ...env, FAL_BASE_URL: upstreamUrl, FAL_KEY: 'test' });
      return settings.parseUpstreams(config).routes[model][0] as UpstreamRoute;
    };
    await Promise.all([parrot.start(), stranger.start()]);
  });
  after(() => Promise.all([parrot.stop(), stranger.stop()]));
  beforeEach(() => {
    for (const server of [parrot, stranger]) {
      server.answers.clear();
      server.requests.length = 0;
    }
  });

  const upstream = (kind: UpstreamRoute['kind'] = 'video'): Upstream =>
    falUpstream({ ...defaultRouteOf('vidmodel-video', parrot.url), kind, modelId: 'owner/app/text-to-video' });

  const submitted = (answer: Verbatim) => {
    parrot.answers.set(SUBMIT, answer);
    return upstream().submit(buildSubmission({}));
  };

  /** Polls with these responses for status and result. */
  const seen = (result: Verbatim, status: unknown = { status: 'COMPLETED' }, kind?: UpstreamRoute['kind']) => {
    parrot.answers.set(STATUS, { status: 200, body: status });
    parrot.answers.set(RESULT, result);
    return upstream(kind).poll(buildHandle(parrot.url));
  };

  describe('with the default models', () => {
    const fake = new FakeFal();
    before(() => fake.start());
    after(() => fake.stop());

    for (const duration of [5, 10] as const) {
      for (const audio of [true, false]) {
        it(`submits a video of ${duration} s with an explicit generate_audio of ${audio}`, async () => {
          const route = defaultRouteOf('vidmodel-video', fake.url);
          const prompt = randomUUID();
          const order = { prompt, duration, resolution: '720p', audio, aspect_ratio: '9:16' } as const;
          const submission = await falUpstream(route).submit(buildSubmission(inputOf(route, order)));
          expect(submission.state).to.equal('accepted');
          const [taken] = fake.jobsFor(prompt);
          expect(taken?.model).to.equal('fal-ai/bytedance/seedance/v1.5/pro/text-to-video');
          expect(taken?.input).to.deep.equal({
            prompt,
            duration: String(duration),
            resolution: '720p',
            aspect_ratio: '9:16',
            generate_audio: audio,
          });
        });
      }
    }

    it('submits an image and returns its output', async () => {
      const route = defaultRouteOf('imgmodel-2', fake.url);
      const prompt = randomUUID();
      const input = inputOf(route, { prompt, resolution: '4K', aspect_ratio: '1:1' });
      const submission = await falUpstream(route).submit(buildSubmission(input));
      if (submission.state !== 'accepted') throw new Error(submission.state);
      const [taken] = fake.jobsFor(prompt);
      expect(taken).to.deep.include({
        model: 'fal-ai/nano-banana-2',
        input: { prompt, resolution: '4K', aspect_ratio: '1:1' },
      });
      expect(await falUpstream(route).poll(submission.handle)).to.deep.equal({
        state: 'succeeded',
        output: { url: `${fake.url}/files/${taken?.id}.png` },
        isWatermarked: false,
      });
    });

    for (const how of ['drop', 'drop after acceptance', 'hang'] as const) {
      it(`reports a submit of unknown outcome after the connection failure ${how}`, async () => {
        fake.submit = how;
        const route = defaultRouteOf('imgmodel-2', fake.url);
        const fault = await captureUpstreamError(falUpstream(route).submit(buildSubmission({ prompt: how })));
        fake.submit = undefined;
        expect(fault).to.include({ fault: 'unknown', hasResponse: false });
      });
    }

    for (const how of ['drop', 'hang', 'garbage'] as const) {
      it(`reports unavailable when a query fails with ${how}`, async () => {
        const route = defaultRouteOf('imgmodel-2', fake.url);
        const submission = await falUpstream(route).submit(buildSubmission({ prompt: how }));
        if (submission.state !== 'accepted') throw new Error(submission.state);
        fake.status = how;
        const fault = await captureUpstreamError(falUpstream(route).poll(submission.handle));
        fake.status = undefined;
        expect(fault).to.include({ fault: 'unavailable', hasResponse: how === 'garbage' });
      });
    }
  });

  describe('submit', () => {
    it('keeps only the id and the addresses of the response', async () => {
      const handle = buildHandle(parrot.url);
      const submission = await submitted({ status: 200, body: { ...handle, status: 'IN_QUEUE', queue_position: 3 } });
      expect(submission).to.deep.equal({ state: 'accepted', handle });
      expect(parrot.requests).to.deep.equal([{ what: SUBMIT, authorization: 'Key test' }]);
    });

    for (const field of ['status_url', 'response_url', 'cancel_url']) {
      it(`rejects a response whose ${field} is at another origin`, async () => {
        const body = { ...buildHandle(parrot.url), [field]: `${stranger.url}/owner/app/requests/r1` };
        expect(await captureUpstreamError(submitted({ status: 200, body }))).to.include({
          fault: 'unknown',
          hasResponse: true,
        });
      });
    }

    const unreadable: [string, number, (receipt: UpstreamHandle) => unknown][] = [
      ['without an id', 200, (receipt) => ({ ...receipt, request_id: undefined })],
      ['with an id that could not be stored', 200, (receipt) => ({ ...receipt, request_id: 'a\u0000b' })],
      ['that is not JSON', 200, () => '<html>'],
      ['that is empty', 200, () => ''],
      ['of a timeout in between', 504, () => ({})],
    ];
    for (const [what, status, bodyFrom] of unreadable) {
      it(`reports a submit of unknown outcome after a response ${what}`, async () => {
        const fault = await captureUpstreamError(submitted({ status, body: bodyFrom(buildHandle(parrot.url)) }));
        expect(fault).to.include({ fault: 'unknown', hasResponse: true });
      });
    }

    it('reports rejected if fal marks the error as not retryable', async () => {
      const headers = { 'x-fal-retryable': 'false' };
      const body = { detail: [{ type: 'image_too_small', msg: 'The image is too small' }] };
      const fault = await captureUpstreamError(submitted({ status: 500, headers, body }));
      expect(fault).to.include({ fault: 'rejected', message: 'The image is too small' });
    });

    for (const retryable of ['true', undefined]) {
      it(`reports unavailable after an error with X-Fal-Retryable ${retryable ?? 'missing'}`, async () => {
        const headers: Record<string, string> = retryable === undefined ? {} : { 'x-fal-retryable': retryable };
        const fault = await captureUpstreamError(submitted({ status: 500, headers, body: { detail: 'Oh' } }));
        expect(fault).to.include({ fault: 'unavailable', hasResponse: true });
      });
    }

    for (const status of [401, 403, 404, 500, 502, 503]) {
      it(`reports unavailable after ${status}, which means that nothing was accepted`, async () => {
        expect(await captureUpstreamError(submitted({ status, body: {} }))).to.include({
          fault: 'unavailable',
          hasResponse: true,
        });
      });
    }

    for (const [header, retryAfterMs] of [
      ['7', 7_000],
      ['0.5', 500],
      ['3600', 60_000],
      ['Wed, 21 Oct 2026 07:28:00 GMT', 0],
      ['-1', 0],
    ] as const) {
      it(`requests a delay of ${retryAfterMs} ms for Retry-After: ${header}`, async () => {
        const fault = await captureUpstreamError(
          submitted({ status: 429, headers: { 'retry-after': header }, body: {} }),
        );
        expect(fault).to.include({ fault: 'unavailable', retryAfterMs });
      });
    }

    const rejections: [string, unknown, string][] = [
      ['by the content policy', { detail: [{ type: 'content_policy_violation', msg: 'no' }] }, NOT_ALLOWED],
      ['for two fields', { detail: [{ type: 'missing', msg: 'a' }, { type: 'enum', msg: 'b' }, {}] }, 'a; b'],
      ['in a sentence', { detail: 'Too long.' }, 'Too long.'],
      ['with a type that is like a method', { detail: [{ type: 'constructor', msg: 'Odd.' }] }, 'Odd.'],
      ['without a word', {}, 'The model could not generate this.'],
      ['in HTML', '<html>', 'The model could not generate this.'],
      ['with NULs and half a pair', { detail: 'a\u0000b\ud800' }, 'ab\ufffd'],
      ['at length', { detail: 'x'.repeat(9_000) }, 'x'.repeat(500)],
    ];
    for (const [what, body, message] of rejections) {
      for (const status of [400, 422]) {
        it(`reports rejected after ${status} ${what}, with a message that can be shown`, async () => {
          expect(await captureUpstreamError(submitted({ status, body }))).to.include({ fault: 'rejected', message });
        });
      }
    }
  });

  describe('poll', () => {
    it('reports running until the request is completed', async () => {
      parrot.answers.set(STATUS, { status: 202, body: { status: 'IN_QUEUE' } });
      expect(await upstream().poll(buildHandle(parrot.url))).to.deep.equal({ state: 'running' });
      parrot.answers.set(STATUS, { status: 200, body: { status: 'IN_PROGRESS' } });
      expect(await upstream().poll(buildHandle(parrot.url))).to.deep.equal({ state: 'running' });
    });

    it('reports gone for a request that the queue does not have', async () => {
      expect(await captureUpstreamError(upstream().poll(buildHandle(parrot.url)))).to.include({ fault: 'gone' });
    });

    for (const answer of [
      { status: 200, body: {} },
      { status: 200, body: 'COMPLETED' },
      { status: 500, body: {} },
    ]) {
      it(`reports unavailable for the response ${JSON.stringify(answer)}`, async () => {
        parrot.answers.set(STATUS, answer);
        expect(await captureUpstreamError(upstream().poll(buildHandle(parrot.url)))).to.include({
          fault: 'unavailable',
        });
      });
    }

    it('returns the video, or the first of the images', async () => {
      const url = 'https://v3.fal.media/out';
      const done = { state: 'succeeded', output: { url }, isWatermarked: false };
      expect(await seen({ status: 200, body: { video: { url } } })).to.deep.equal(done);
      const images = [{ url }, { url: 'https://v3.fal.media/second' }];
      expect(await seen({ status: 200, body: { images } }, undefined, 'image')).to.deep.equal(done);
    });

    it('returns whether an output is watermarked', async () => {
      const body = { video: { url: 'https://v3.fal.media/out' }, watermarked: true };
      expect(await seen({ status: 200, body })).to.include({ isWatermarked: true });
    });

    for (const body of ['<html>', {}, { video: null }, { video: { url: 7 } }, { images: [{ url: 'https://a' }] }]) {
      it(`reports a missing output for ${JSON.stringify(body)}`, async () => {
        const failure = { state: 'failed', message: 'The model returned no output.' };
        expect(await seen({ status: 200, body })).to.deep.equal(failure);
      });
    }

    for (const [type, message] of Object.entries(FAILURE_MESSAGES)) {
      it(`translates ${type} into a customer message, wherever it appears`, async () => {
        const failure = { state: 'failed', message };
        expect(await seen({ status: 422, body: { detail: [{ type, msg: 'raw words' }] } })).to.deep.equal(failure);
        expect(await seen({ status: 500, body: { detail: 'raw words', error_type: type } })).to.deep.equal(failure);
        const status = { status: 'COMPLETED', error: 'raw words', error_type: type };
        expect(await seen({ status: 500, body: '<html>' }, status)).to.deep.equal(failure);
      });
    }

    it('passes on any other error message of the model', async () => {
      const body = { detail: [{ type: 'value_error', msg: 'duration must be 5' }] };
      expect(await seen({ status: 422, body })).to.deep.equal({ state: 'failed', message: 'duration must be 5' });
    });

    it('reports failed for a server error that fal marks as final', async () => {
      const failure = { state: 'failed', message: 'The model could not generate this.' };
      const headers = { 'x-fal-retryable': 'false' };
      expect(await seen({ status: 500, headers, body: {} })).to.deep.equal(failure);
      expect(await seen({ status: 500, body: {} }, { status: 'COMPLETED', error: 'It fell.' })).to.deep.equal(failure);
    });

    for (const [status, headers] of [
      [500, {}],
      [503, { 'x-fal-retryable': 'true' }],
      [504, {}],
      [401, {}],
      [403, {}],
      [404, {}],
      [408, {}],
      [429, { 'retry-after': '3' }],
    ] as [number, Record<string, string>][]) {
      it(`reports unavailable for a result that fal does not return: ${status} ${JSON.stringify(headers)}`, async () => {
        const fault = await captureUpstreamError(seen({ status, headers, body: {} }));
        expect(fault).to.include({ fault: 'unavailable', retryAfterMs: status === 429 ? 3_000 : 0 });
      });
    }

    it('never sends the key to another origin, even if a handle contains an address there', async () => {
      expect(await captureUpstreamError(upstream().poll(buildHandle(stranger.url)))).to.include({
        fault: 'unavailable',
      });
      expect(await captureUpstreamError(upstream().cancel(buildHandle(stranger.url)))).to.include({
        fault: 'unavailable',
      });
      parrot.answers.set(STATUS, { status: 200, body: { status: 'COMPLETED' } });
      const half = { ...buildHandle(parrot.url), response_url: `${stranger.url}/owner/app/requests/r1` };
      expect(await captureUpstreamError(upstream().poll(half))).to.include({ fault: 'unavailable' });
      expect(stranger.requests).to.deep.equal([]);
    });
  });

  it('cancels with the key, and ignores a cancellation that comes too late', async () => {
    parrot.answers.set(CANCEL, { status: 400, body: { status: 'ALREADY_COMPLETED' } });
    await upstream().cancel(buildHandle(parrot.url));
    expect(parrot.requests).to.deep.equal([{ what: CANCEL, authorization: 'Key test' }]);
  });

  describe('probe', () => {
    it('succeeds if the queue responds that the request does not exist', async () => {
      await upstream().probe();
      expect(parrot.requests).to.deep.equal([{ what: PROBE, authorization: 'Key test' }]);
    });

    for (const answer of [
      { status: 401, body: {} },
      { status: 403, body: {} },
      { status: 429, body: {} },
      { status: 500, body: {} },
      { status: 404, body: '<html>' },
    ]) {
      it(`fails for the response ${JSON.stringify(answer)}`, async () => {
        parrot.answers.set(PROBE, answer);
        expect(await captureUpstreamError(upstream().probe())).to.include({ fault: 'unavailable', hasResponse: true });
      });
    }
  });
});

function buildHandle(url: string): UpstreamHandle {
  return {
    request_id: 'r1',
    status_url: `${url}/owner/app/requests/r1/status`,
    response_url: `${url}/owner/app/requests/r1`,
    cancel_url: `${url}/owner/app/requests/r1/cancel`,
  };
}

function buildSubmission(input: Record<string, unknown>) {
  return {
    generationId: randomUUID(),
    input,
    deadlineAt: new Date(Date.now() + 60_000),
    newFile: () => Promise.reject(new Error('no file is needed')),
  };
}

/** Returns the error of a call, which must be an UpstreamError. */
async function captureUpstreamError(call: Promise<unknown>): Promise<UpstreamError> {
  try {
    const result = await call;
    throw new Error(`Nothing was thrown, but this returned: ${JSON.stringify(result)}`);
  } catch (error) {
    if ((error as Error).name !== 'UpstreamError') throw error;
    return error as UpstreamError;
  }
}
