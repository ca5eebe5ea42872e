import { expect } from 'chai';
import type { Upstream, UpstreamHandle } from '../../shared/gateways/upstreams/upstream.ts';
import { FakeUpstream } from '../fakes/fakeUpstream.ts';
import type { VerbatimResponse } from '../fakes/misbehave.ts';
import {
  BROKE_DOWN,
  buildSubmission as buildRequest,
  buildUpstream,
  captureUpstreamError,
  getHandle,
  NO_OUTPUT,
  NOT_ALLOWED,
  NOT_MADE,
  useServers,
} from '../harness/upstreamAdapter.ts';

const buildSubmission = ({ deadlineMs = 60_000 } = {}) => buildRequest({ deadlineMs, input: { resolution: '1K' } });

describe('the Replicate adapter', () => {
  const fake = new FakeUpstream('test');
  /** A server at another origin with the same behavior. */
  const stranger = new FakeUpstream('test');
  useServers(fake, stranger);
  beforeEach(() => {
    fake.outcome = 'wait';
  });

  const upstream = (modelId = 'owner/name'): Upstream =>
    buildUpstream('replicate', 'image', modelId, { baseUrl: `${fake.url}/v1` });

  /** Submits a generation that must be accepted. */
  const accept = async (asked = buildSubmission(), modelId?: string): Promise<UpstreamHandle> =>
    getHandle(await upstream(modelId).submit(asked));

  const submitTo = async (answer: VerbatimResponse) => {
    fake.submit = answer;
    return upstream().submit(buildSubmission());
  };

  const seen = async (body: unknown) => {
    const handle = await accept();
    fake.status = { status: 200, body };
    return upstream().poll(handle);
  };

  describe('submit', () => {
    it('creates a prediction of an official model without waiting for its end', async () => {
      const asked = buildSubmission();
      await accept(asked, 'bytedance/seedance-1-pro');
      const [prediction] = fake.jobsFor(asked.input.prompt);
      expect(prediction?.request.path).to.equal('/v1/models/bytedance/seedance-1-pro/predictions');
      expect(prediction?.request.body).to.deep.equal({ input: { input: asked.input } });
      expect(prediction?.request.headers).to.not.have.property('prefer');
    });

    it('creates a prediction of a model version', async () => {
      const asked = buildSubmission();
      await accept(asked, 'owner/name:9dcd6d78e7c6');
      const [prediction] = fake.jobsFor(asked.input.prompt);
      expect(prediction?.request.path).to.equal('/v1/predictions');
      expect(prediction?.request.body).to.deep.equal({ input: { version: '9dcd6d78e7c6', input: asked.input } });
    });

    for (const [what, deadlineMs, cancelAfter] of [
      ["at the generation's deadline", 90_000, '90s'],
      ['after 5 seconds at the least', 1_000, '5s'],
      ['after 5 seconds where the deadline has passed', -60_000, '5s'],
      ['after 24 hours at the most', 72 * 3_600_000, '86400s'],
    ] as const) {
      it(`sets the lifetime of the prediction ${what}`, async () => {
        const asked = buildSubmission({ deadlineMs });
        await accept(asked);
        expect(fake.jobsFor(asked.input.prompt)[0]?.request.headers['cancel-after']).to.equal(cancelAfter);
      });
    }

    it('keeps only the id and the addresses of the response', async () => {
      const asked = buildSubmission();
      const handle = await accept(asked);
      const id = fake.jobsFor(asked.input.prompt)[0]?.id as string;
      const own = `${fake.url}/v1/predictions/${id}`;
      expect(handle).to.deep.equal({ id, get_url: own, cancel_url: `${own}/cancel` });
    });

    for (const status of [200, 201, 202]) {
      it(`accepts ${status}, also with an unknown prediction status`, async () => {
        const submission = await submitTo({ status, body: { id: 'p1', status: 'booting' } });
        expect(submission.state).to.equal('accepted');
      });
    }

    it('derives missing addresses from the id', async () => {
      const submission = await submitTo({ status: 201, body: { id: 'p/1', status: 'starting' } });
      const own = `${fake.url}/v1/predictions/p%2F1`;
      const handle = { id: 'p/1', get_url: own, cancel_url: `${own}/cancel` };
      expect(submission).to.deep.equal({ state: 'accepted', handle });
    });

    it('replaces addresses at other origins by its own, so that the key is never sent there', async () => {
      const foreign = `${stranger.url}/v1/predictions/p1`;
      const urls = { get: foreign, cancel: `${foreign}/cancel` };
      const submission = await submitTo({ status: 201, body: { id: 'p1', status: 'starting', urls } });
      const own = `${fake.url}/v1/predictions/p1`;
      const handle = { id: 'p1', get_url: own, cancel_url: `${own}/cancel` };
      expect(submission).to.deep.equal({ state: 'accepted', handle });
    });

    it('returns the output if the prediction has already succeeded', async () => {
      const output = 'https://replicate.delivery/xezq/out.png';
      const submission = await submitTo({ status: 201, body: { id: 'p1', status: 'succeeded', output } });
      expect(submission).to.deep.equal({ state: 'succeeded', outputs: [{ url: output }], isWatermarked: false });
    });

    it('counts the images that a safety checker left out, which only the log names', async () => {
      const output = ['https://replicate.delivery/xezq/out-1.png'];
      const logs = 'Using seed: 7\nNSFW content detected in image 0\nNSFW content detected in image 2\n';
      const submission = await submitTo({ status: 201, body: { id: 'p1', status: 'succeeded', output, logs } });
      expect(submission).to.deep.include({ state: 'succeeded', filtered: 2 });
    });

    for (const [status, error, message] of [
      ['failed', 'NSFW content detected. Try running it again, or try a different prompt.', NOT_ALLOWED],
      ['canceled', null, 'The generation was cancelled.'],
      ['aborted', null, 'The model did not start in time. Please try again.'],
    ] as const) {
      it(`returns failed if the prediction is already ${status}`, async () => {
        const submission = await submitTo({ status: 201, body: { id: 'p1', status, error, output: null } });
        expect(submission).to.deep.equal({ state: 'failed', message });
      });
    }

    const rejections: [string, number, unknown, string][] = [
      ['a sentence', 400, { detail: 'The input is too long.\n', title: 'Bad input' }, 'The input is too long.'],
      ['a list', 422, { detail: [{ msg: 'too long' }, { msg: 'too loud' }, 7] }, 'too long; too loud'],
      [
        'an invalid input',
        422,
        {
          title: 'Input validation failed',
          detail: '- input.prompt: The fake rejects this prompt\n',
          status: 422,
          invalid_fields: [{ type: 'invalid', field: 'input.prompt', description: 'The fake rejects this prompt' }],
        },
        'The fake rejects this prompt',
      ],
      [
        'two fields',
        422,
        { detail: '- input', invalid_fields: [{ description: 'a is required' }, { description: 'b is odd' }] },
        'a is required; b is odd',
      ],
      ['fields without a word', 422, { detail: 'Bad.', invalid_fields: [{}] }, 'Bad.'],
      ['a title only', 422, { title: 'Input validation failed' }, 'Input validation failed'],
      ['the content policy', 400, { detail: 'Your prompt was flagged by safety checks.' }, NOT_ALLOWED],
    ];
    for (const [what, status, body, message] of rejections) {
      it(`reports rejected after ${status} and ${what}, with a message that can be shown`, async () => {
        expect(await captureUpstreamError(submitTo({ status, body }))).to.include({ fault: 'rejected', message });
      });
    }

    it('reports unavailable and not rejected if the version does not exist', async () => {
      const body = {
        title: 'Invalid version or not permitted',
        detail: "The specified version does not exist (or perhaps you don't have permission to use it?)",
        status: 422,
      };
      expect(await captureUpstreamError(submitTo({ status: 422, body }))).to.include({
        fault: 'unavailable',
        hasResponse: true,
      });
    });

    const waits: [string, Record<string, string>, unknown, number][] = [
      ['by the header', { 'retry-after': '7' }, { detail: 'Request was throttled.' }, 7_000],
      ['in the body', {}, { detail: 'Request was throttled.', status: 429, retry_after: 5 }, 5_000],
      ['in the sentence', {}, { detail: 'Request was throttled. Your rate limit resets in ~30s.' }, 30_000],
      ['by header and body, of which the header counts', { 'retry-after': '2' }, { retry_after: 9 }, 2_000],
      ['for an hour, which is cut down to a minute', {}, { retry_after: 3_600 }, 60_000],
      ['nowhere', {}, { detail: 'Request was throttled.' }, 0],
      ['in a way that makes no sense', {}, { retry_after: 'soon' }, 0],
    ];
    for (const [where, headers, body, retryAfterMs] of waits) {
      it(`reads the delay of a throttled submit ${where}`, async () => {
        const fault = await captureUpstreamError(submitTo({ status: 429, headers, body }));
        expect(fault).to.include({ fault: 'unavailable', hasResponse: true, retryAfterMs });
      });
    }
  });

  describe('poll', () => {
    it('returns the file, which needs the key, or those of a list', async () => {
      const asked = buildSubmission();
      const handle = await accept(asked);
      fake.end(asked.input.prompt, 'succeeded');
      const url = `${fake.url}/files/${String(handle['id'])}.png`;
      expect(upstream().getFileHeaders(url)).to.deep.equal({ authorization: 'Bearer test' });
      const expectOutputs = async (...urls: string[]) => {
        const outputs = urls.map((output) => ({ url: output }));
        expect(await upstream().poll(handle)).to.deep.equal({ state: 'succeeded', outputs, isWatermarked: false });
      };
      await expectOutputs(url);
      for (const file of [url, [url, `${url}2`]]) {
        fake.changeBody = (body) => ({ ...body, output: file });
        await expectOutputs(...[file].flat());
      }
    });

    it('returns a file on another host without the key', async () => {
      const url = `${stranger.url}/out.mp4`;
      const progress = await seen({ status: 'succeeded', output: [null, '', url, 'https://replicate.delivery/2'] });
      const outputs = [{ url }, { url: 'https://replicate.delivery/2' }];
      expect(progress).to.deep.equal({ state: 'succeeded', outputs, isWatermarked: false });
      expect(upstream().getFileHeaders(url)).to.equal(undefined);
    });

    for (const output of [null, undefined, '', 7, [], [null], [['https://a']], { url: 'https://a' }]) {
      it(`reports a missing output for ${JSON.stringify(output) ?? 'nothing'}`, async () => {
        expect(await seen({ status: 'succeeded', output })).to.deep.equal(NO_OUTPUT);
      });
    }

    const errors: [unknown, string][] = [
      ['NSFW content detected. Try running it again, or try a different prompt.', NOT_ALLOWED],
      [
        'The input or output was flagged as sensitive. Please try again with different inputs. (E005) (a1b2)',
        NOT_ALLOWED,
      ],
      ['Prompt rejected by the safety system', NOT_ALLOWED],
      ['This violates our content policy.', NOT_ALLOWED],
      ['Prediction interrupted; please retry (code: PA)', BROKE_DOWN],
      ['Director: unexpected error handling prediction (E8765)', BROKE_DOWN],
      ['Service is currently unavailable due to high demand. Please try again later. (E003)', BROKE_DOWN],
      ['CUDA out of memory. Tried to allocate 5.92 GiB', BROKE_DOWN],
      ['Prediction timed out after 1800 s', BROKE_DOWN],
      ['httpx.ReadTimeout', BROKE_DOWN],
      ['prompt must name at least one animal\n', 'prompt must name at least one animal'],
      [`bad ${'x'.repeat(900)}`, `bad ${'x'.repeat(496)}`],
      [null, NOT_MADE],
      ['', NOT_MADE],
      [' \n', NOT_MADE],
      [{ code: 5 }, NOT_MADE],
    ];
    for (const [error, message] of errors) {
      it(`translates the failure ${JSON.stringify(error).slice(0, 50)} into a customer message`, async () => {
        expect(await seen({ status: 'failed', error })).to.deep.equal({ state: 'failed', message });
      });
    }

    it('reports failed for a prediction that was cancelled, and for one that never started', async () => {
      expect(await seen({ status: 'canceled' })).to.deep.equal({
        state: 'failed',
        message: 'The generation was cancelled.',
      });
      const message = 'The model did not start in time. Please try again.';
      expect(await seen({ status: 'aborted' })).to.deep.equal({ state: 'failed', message });
    });

    it('reports unavailable for a status that is not text', async () => {
      const expected = { fault: 'unavailable', hasResponse: true };
      expect(await captureUpstreamError(seen({ status: 7 }))).to.include(expected);
    });

    it('never requests an address at another origin, even if a handle contains one', async () => {
      const handle = { id: 'p1', get_url: `${stranger.url}/v1/predictions/p1`, cancel_url: `${stranger.url}/cancel` };
      for (const unreadable of [handle, { id: 'p1' }])
        for (const work of [upstream().poll(unreadable), upstream().cancel(unreadable)])
          expect(await captureUpstreamError(work)).to.include({ fault: 'gone' });
      expect(stranger.requests).to.deep.equal([]);
    });
  });

  describe('probe', () => {
    it('succeeds if the model exists, whatever the version is', async () => {
      await upstream('owner/name').probe();
      await upstream('owner/name:9dcd6d78e7c6').probe();
    });

    for (const [what, answer] of [
      ['a missing model', { status: 404, body: { detail: 'not found' } }],
      ['a list', { status: 200, body: [] }],
      ['nothing', { status: 200, body: null }],
      ['another status', { status: 204, body: {} }],
    ] as const) {
      it(`fails for ${what}`, async () => {
        fake.probe = answer;
        expect(await captureUpstreamError(upstream().probe())).to.include({ fault: 'unavailable' });
      });
    }
  });
});
