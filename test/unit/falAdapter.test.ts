import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import type { Upstream } from '../../shared/gateways/upstreams/upstream.ts';
import { falUpstream } from '../../shared/gateways/upstreams/fal.ts';
import { buildUpstreamInput, type UpstreamRoute } from '../../shared/gateways/upstreams/upstreamConfig.ts';
import type { ModelKind } from '../../shared/spec/catalog.ts';
import { FakeUpstream } from '../fakes/fakeUpstream.ts';
import type { VerbatimResponse } from '../fakes/misbehave.ts';
import {
  BROKE_DOWN,
  buildFalHandle,
  buildSubmission,
  buildUpstream,
  captureUpstreamError,
  getHandle,
  NO_OUTPUT,
  NOT_ALLOWED,
  NOT_MADE,
  useServers,
} from '../harness/upstreamAdapter.ts';
import { parseEnv } from '../harness/upstreamParser.ts';

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

const SUBMIT = 'POST /owner/app/text-to-video';
const CANCEL = 'PUT /owner/app/requests/r1/cancel';
const PROBE = 'GET /owner/app/requests/00000000-0000-0000-0000-000000000000/status';

describe('the fal adapter', () => {
  const fake = new FakeUpstream('test');
  /** A server at another origin. */
  const stranger = new FakeUpstream('test');
  useServers(fake, stranger);

  const getDefaultRoute = (model: UpstreamRoute['model']) =>
    parseEnv({ FAL_BASE_URL: fake.url, FAL_KEY: 'test' }).routes[model]?.[0] as UpstreamRoute;

  const upstream = (kind: ModelKind = 'video'): Upstream =>
    buildUpstream('fal', kind, 'owner/app/text-to-video', { baseUrl: fake.url });

  const submitted = (answer: VerbatimResponse) => {
    fake.submit = answer;
    return upstream().submit(buildSubmission());
  };

  /** Polls with these responses for status and result. */
  const seen = (result: VerbatimResponse, status: unknown = { status: 'COMPLETED' }, kind?: ModelKind) => {
    fake.status = { status: 200, body: status };
    fake.result = result;
    return upstream(kind).poll(buildFalHandle(fake.url));
  };

  describe('with the default models', () => {
    for (const duration of [5, 10] as const) {
      for (const audio of [true, false]) {
        it(`submits a video of ${duration} s with an explicit generate_audio of ${audio}`, async () => {
          const route = getDefaultRoute('vidmodel-video');
          const prompt = randomUUID();
          const order = { prompt, duration, resolution: '720p', audio, aspect_ratio: '9:16' } as const;
          const submission = await falUpstream(route).submit(
            buildSubmission({ input: buildUpstreamInput(route, order) }),
          );
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
      const route = getDefaultRoute('imgmodel-2');
      const prompt = randomUUID();
      const input = buildUpstreamInput(route, { prompt, resolution: '4K', aspect_ratio: '1:1' });
      const handle = getHandle(await falUpstream(route).submit(buildSubmission({ input })));
      const [taken] = fake.jobsFor(prompt);
      expect(taken).to.deep.include({
        model: 'fal-ai/nano-banana-2',
        input: { prompt, resolution: '4K', aspect_ratio: '1:1' },
      });
      expect(await falUpstream(route).poll(handle)).to.deep.equal({
        state: 'succeeded',
        outputs: [{ url: `${fake.url}/files/${taken?.id}.png` }],
        isWatermarked: false,
      });
    });
  });

  describe('submit', () => {
    it('keeps only the id of the response if the addresses follow from it', async () => {
      const body = { ...buildFalHandle(fake.url), status: 'IN_QUEUE', queue_position: 3 };
      expect(await submitted({ status: 200, body })).to.deep.equal({ state: 'accepted', handle: { request_id: 'r1' } });
      expect(fake.requests).to.deep.equal([{ call: SUBMIT, authorization: 'Key test' }]);
    });

    it('keeps the addresses of the response that do not follow from the id', async () => {
      const response_url = `${fake.url}/owner/app/text-to-video/requests/r1`;
      const rest = { status_url: `${response_url}/status`, cancel_url: `${response_url}/cancel` };
      const cancel_url = `${fake.url}/owner/app/cancellations/r1`;
      for (const [addresses, kept] of [
        [{ cancel_url }, { cancel_url }],
        [{ response_url, ...rest }, { response_url }],
      ]) {
        const submission = await submitted({ status: 200, body: { ...buildFalHandle(fake.url), ...addresses } });
        expect(submission).to.deep.equal({ state: 'accepted', handle: { request_id: 'r1', ...kept } });
      }
    });

    it('polls by the id alone as by the addresses of the response', async () => {
      fake.status = { status: 200, body: { status: 'COMPLETED' } };
      fake.result = { status: 200, body: { video: { url: 'https://v3.fal.media/out' } } };
      for (const handle of [{ request_id: 'r1' }, buildFalHandle(fake.url)])
        expect(await upstream().poll(handle)).to.include({ state: 'succeeded' });
      const calls = ['GET /owner/app/requests/r1/status', 'GET /owner/app/requests/r1'];
      expect(fake.requests.map(({ call }) => call)).to.deep.equal([...calls, ...calls]);
    });

    for (const field of ['status_url', 'response_url', 'cancel_url']) {
      it(`rejects a response whose ${field} is at another origin`, async () => {
        const body = { ...buildFalHandle(fake.url), [field]: `${stranger.url}/owner/app/requests/r1` };
        expect(await captureUpstreamError(submitted({ status: 200, body }))).to.include({
          fault: 'unknown',
          hasResponse: true,
        });
      });
    }

    it('reports rejected if fal marks the error as not retryable', async () => {
      const body = { detail: [{ type: 'image_too_small', msg: 'The image is too small' }] };
      for (const [name, value] of [
        ['x-fal-retryable', 'false'],
        ['x-fal-needs-retry', 'false'],
        ['x-fal-needs-retry', '0'],
      ] as const) {
        const fault = await captureUpstreamError(submitted({ status: 500, headers: { [name]: value }, body }));
        expect(fault).to.include({ fault: 'rejected', message: 'The image is too small' });
      }
    });

    for (const retryable of ['true', undefined]) {
      it(`reports unavailable after an error with X-Fal-Retryable ${retryable ?? 'missing'}`, async () => {
        const headers: Record<string, string> = retryable === undefined ? {} : { 'x-fal-retryable': retryable };
        const fault = await captureUpstreamError(submitted({ status: 500, headers, body: { detail: 'Oh' } }));
        expect(fault).to.include({ fault: 'unavailable', hasResponse: true });
      });
    }

    const rejections: [string, unknown, string][] = [
      ['by the content policy', { detail: [{ type: 'content_policy_violation', msg: 'no' }] }, NOT_ALLOWED],
      ['for two fields', { detail: [{ type: 'missing', msg: 'a' }, { type: 'enum', msg: 'b' }, {}] }, 'a; b'],
      ['with a type that is like a method', { detail: [{ type: 'constructor', msg: 'Odd.' }] }, 'Odd.'],
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
    it('reports running while fal responds with 202', async () => {
      for (const status of ['IN_QUEUE', 'IN_PROGRESS']) {
        fake.status = { status: 202, body: { status } };
        expect(await upstream().poll(buildFalHandle(fake.url))).to.include({ state: 'running' });
      }
    });

    it('returns the video, or the images', async () => {
      const url = 'https://v3.fal.media/out';
      const done = { state: 'succeeded', outputs: [{ url }], isWatermarked: false };
      expect(await seen({ status: 200, body: { video: { url } } })).to.deep.equal(done);
      const images = [{ url }, { url: 'https://v3.fal.media/second' }];
      const several = { ...done, outputs: images };
      expect(await seen({ status: 200, body: { images } }, undefined, 'image')).to.deep.equal(several);
    });

    it('returns whether an output is watermarked', async () => {
      const body = { video: { url: 'https://v3.fal.media/out' }, watermarked: true };
      expect(await seen({ status: 200, body })).to.include({ isWatermarked: true });
    });

    for (const body of ['<html>', {}, { video: null }, { video: { url: 7 } }, { images: [{ url: 'https://a' }] }]) {
      it(`reports a missing output for ${JSON.stringify(body)}`, async () => {
        expect(await seen({ status: 200, body })).to.deep.equal(NO_OUTPUT);
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
      const failure = { state: 'failed', message: NOT_MADE };
      const headers = { 'x-fal-retryable': 'false' };
      expect(await seen({ status: 500, headers, body: {} })).to.deep.equal(failure);
      expect(await seen({ status: 500, body: {} }, { status: 'COMPLETED', error: 'It fell.' })).to.deep.equal(failure);
    });

    for (const [status, headers] of [
      [500, {}],
      [503, { 'x-fal-retryable': 'true' }],
      [504, {}],
      [408, {}],
      [429, { 'retry-after': '3' }],
    ] as [number, Record<string, string>][]) {
      it(`reports unavailable for a result that fal does not return: ${status} ${JSON.stringify(headers)}`, async () => {
        const fault = await captureUpstreamError(seen({ status, headers, body: {} }));
        expect(fault).to.include({ fault: 'unavailable', retryAfterMs: status === 429 ? 3_000 : 0 });
      });
    }

    for (const status of [401, 403, 404]) {
      it(`reports failed for a model's own ${status}, and gone for one without a reason`, async () => {
        for (const body of [{ detail: [{ msg: 'Odd.' }] }, { detail: 'Odd.', error_type: 'odd' }])
          expect(await seen({ status, body })).to.deep.equal({ state: 'failed', message: 'Odd.' });
        expect(await captureUpstreamError(seen({ status, body: { detail: 'No.' } }))).to.include({ fault: 'gone' });
      });
    }

    it('never sends the key to another origin, even if a handle contains an address there', async () => {
      expect(await captureUpstreamError(upstream().poll(buildFalHandle(stranger.url)))).to.include({
        fault: 'gone',
      });
      expect(await captureUpstreamError(upstream().cancel(buildFalHandle(stranger.url)))).to.include({
        fault: 'gone',
      });
      fake.status = { status: 200, body: { status: 'COMPLETED' } };
      const half = { ...buildFalHandle(fake.url), response_url: `${stranger.url}/owner/app/requests/r1` };
      expect(await captureUpstreamError(upstream().poll(half))).to.include({ fault: 'gone' });
      expect(stranger.requests).to.deep.equal([]);
    });
  });

  it('cancels with the key, and ignores a cancellation that comes too late', async () => {
    fake.cancel = { status: 400, body: { status: 'ALREADY_COMPLETED' } };
    for (const handle of [buildFalHandle(fake.url), { request_id: 'r1' }]) await upstream().cancel(handle);
    const call = { call: CANCEL, authorization: 'Key test' };
    expect(fake.requests).to.deep.equal([call, call]);
  });

  it('probes the queue for a request that does not exist', async () => {
    await upstream().probe();
    expect(fake.requests).to.deep.equal([{ call: PROBE, authorization: 'Key test' }]);
  });
});
