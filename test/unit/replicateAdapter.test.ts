import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { setTestConfig } from '../harness/testConfig.ts';
import type { UpstreamRoute } from '../../shared/gateways/upstreams/upstreamConfig.ts';
import type { Upstream, UpstreamError, UpstreamHandle } from '../../shared/gateways/upstreams/upstream.ts';
import { FakeReplicate, type VerbatimResponse } from '../fakes/upstreams/replicate.ts';

const NOT_ALLOWED = "The model's content policy does not allow this. Please change the prompt and try again.";
const BROKE_DOWN = 'The model failed while generating. Please try again.';

describe('the Replicate adapter', () => {
  const fake = new FakeReplicate();
  /** A server at another origin with the same behavior. */
  const stranger = new FakeReplicate();
  let replicateUpstream: (route: UpstreamRoute) => Upstream;
  before(async () => {
    setTestConfig({ UPSTREAM_TIMEOUT_MS: '1000' });
    ({ replicateUpstream } = await import('../../shared/gateways/upstreams/replicate.ts'));
    await Promise.all([fake.start(), stranger.start()]);
  });
  after(() => Promise.all([fake.stop(), stranger.stop()]));
  beforeEach(() => fake.reset());

  const upstreamTo = (baseUrl: string, modelId = 'owner/name'): Upstream =>
    replicateUpstream({
      model: 'imgmodel-2',
      kind: 'image',
      modelId,
      modelSettings: { input: {} },
      upstream: {
        name: 'replicate',
        adapter: 'replicate',
        baseUrl,
        key: FakeReplicate.KEY,
        concurrency: null,
        perMinute: null,
        isLocal: false,
        acceptsForm: false,
      },
    });
  const upstream = (modelId?: string) => upstreamTo(`${fake.url}/v1`, modelId);

  /** Submits a generation that must be accepted. */
  async function accept(asked = buildSubmission(), modelId?: string): Promise<UpstreamHandle> {
    const submission = await upstream(modelId).submit(asked);
    if (submission.state !== 'accepted') throw new Error(`Not accepted: ${JSON.stringify(submission)}`);
    return submission.handle;
  }

  const submitTo = async (answer: VerbatimResponse) => {
    fake.submit = answer;
    return upstream().submit(buildSubmission());
  };

  /** Polls with this response. */
  const seen = async (body: unknown) => {
    const handle = await accept();
    fake.status = { status: 200, body };
    return upstream().poll(handle);
  };

  describe('submit', () => {
    it('creates a prediction of an official model without waiting for its end', async () => {
      const asked = buildSubmission();
      await accept(asked, 'bytedance/seedance-1-pro');
      const [prediction] = fake.predictionsFor(asked.input.prompt);
      expect(prediction).to.deep.include({ model: 'bytedance/seedance-1-pro', version: null, input: asked.input });
      expect(prediction?.prefer).to.equal('respond-async');
    });

    it('creates a prediction of a model version', async () => {
      const asked = buildSubmission();
      await accept(asked, 'owner/name:9dcd6d78e7c6');
      const [prediction] = fake.predictionsFor(asked.input.prompt);
      expect(prediction).to.deep.include({ model: null, version: '9dcd6d78e7c6', input: asked.input });
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
        expect(fake.predictionsFor(asked.input.prompt)[0]?.cancelAfter).to.equal(cancelAfter);
      });
    }

    it('keeps only the id and the addresses of the response', async () => {
      const asked = buildSubmission();
      const handle = await accept(asked);
      const id = fake.predictionsFor(asked.input.prompt)[0]?.id as string;
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
      expect(submission).to.deep.equal({ state: 'succeeded', output: { url: output }, isWatermarked: false });
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

    it('reports rejected for an invalid input, with the descriptions of the fields', async () => {
      fake.submit = 'refuse';
      expect(await captureUpstreamError(upstream().submit(buildSubmission()))).to.include({
        fault: 'rejected',
        message: 'The fake rejects this prompt',
      });
    });

    const rejections: [string, number, unknown, string][] = [
      ['a sentence', 400, { detail: 'The input is too long.\n', title: 'Bad input' }, 'The input is too long.'],
      ['a list', 422, { detail: [{ msg: 'too long' }, { msg: 'too loud' }, 7] }, 'too long; too loud'],
      [
        'two fields',
        422,
        { detail: '- input', invalid_fields: [{ description: 'a is required' }, { description: 'b is odd' }] },
        'a is required; b is odd',
      ],
      ['fields without a word', 422, { detail: 'Bad.', invalid_fields: [{}] }, 'Bad.'],
      ['a title only', 422, { title: 'Input validation failed' }, 'Input validation failed'],
      ['the content policy', 400, { detail: 'Your prompt was flagged by safety checks.' }, NOT_ALLOWED],
      ['nothing', 422, {}, 'The model could not generate this.'],
      ['something that is no object', 400, 'no', 'The model could not generate this.'],
      ['something with NULs', 400, { detail: 'a\u0000b' }, 'ab'],
      ['more than can be shown', 400, { detail: 'x'.repeat(9_000) }, 'x'.repeat(500)],
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

    for (const status of [401, 402, 403, 404, 500, 502, 503]) {
      it(`reports unavailable after ${status}, which means that nothing was accepted`, async () => {
        const fault = await captureUpstreamError(submitTo({ status, body: { detail: 'no', title: 'No', status } }));
        expect(fault).to.include({ fault: 'unavailable', hasResponse: true });
      });
    }

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

    const unreadable: [string, VerbatimResponse][] = [
      ['has no id', { status: 201, body: { status: 'starting' } }],
      ['has an id that is no text', { status: 201, body: { id: 5, status: 'starting' } }],
      ['has an id that could not be stored', { status: 201, body: { id: 'a\u0000b', status: 'starting' } }],
      ['is no object', { status: 200, body: 'thanks' }],
      ['is the timeout of something in between', { status: 504, body: {} }],
    ];
    for (const [what, answer] of unreadable) {
      it(`reports a submit of unknown outcome if the response ${what}`, async () => {
        expect(await captureUpstreamError(submitTo(answer))).to.include({ fault: 'unknown', hasResponse: true });
      });
    }

    for (const how of ['drop', 'drop after acceptance', 'hang'] as const) {
      it(`reports a submit of unknown outcome after the connection failure ${how}`, async () => {
        fake.submit = how;
        expect(await captureUpstreamError(upstream().submit(buildSubmission()))).to.include({
          fault: 'unknown',
          hasResponse: false,
        });
      });
    }

    it('reports a submit of unknown outcome if the response is not JSON', async () => {
      fake.submit = 'garbage';
      expect(await captureUpstreamError(upstream().submit(buildSubmission()))).to.include({ fault: 'unknown' });
    });

    it('reports unavailable if the connection is refused', async () => {
      const stopped = await new FakeReplicate().start();
      await stopped.stop();
      const fault = await captureUpstreamError(upstreamTo(`${stopped.url}/v1`).submit(buildSubmission()));
      expect(fault).to.include({ fault: 'unavailable', hasResponse: false });
    });
  });

  describe('poll', () => {
    it('reports running and then succeeded, with the file and the key for it', async () => {
      fake.outcome = 'wait';
      const asked = buildSubmission();
      const handle = await accept(asked);
      expect(await upstream().poll(handle)).to.deep.equal({ state: 'running' });
      fake.end(asked.input.prompt, 'succeeded');
      expect(await upstream().poll(handle)).to.deep.equal({
        state: 'succeeded',
        output: { url: `${fake.url}/files/${String(handle['id'])}.png`, headers: { authorization: 'Bearer test' } },
        isWatermarked: false,
      });
    });

    it('returns the first file of a list', async () => {
      fake.outputAs = 'list';
      const progress = await upstream().poll(await accept());
      expect(progress).to.have.property('state', 'succeeded');
    });

    for (const status of ['starting', 'processing', 'queued', 'a word of tomorrow']) {
      it(`reports running for the status "${status}"`, async () => {
        expect(await seen({ status })).to.deep.equal({ state: 'running' });
      });
    }

    it('returns a file on another host without the key', async () => {
      const url = `${stranger.url}/out.mp4`;
      const progress = await seen({ status: 'succeeded', output: [null, '', url, 'https://replicate.delivery/2'] });
      expect(progress).to.deep.equal({ state: 'succeeded', output: { url }, isWatermarked: false });
    });

    for (const output of [null, undefined, '', 7, [], [null], [['https://a']], { url: 'https://a' }]) {
      it(`reports a missing output for ${JSON.stringify(output) ?? 'nothing'}`, async () => {
        const failure = { state: 'failed', message: 'The model returned no output.' };
        expect(await seen({ status: 'succeeded', output })).to.deep.equal(failure);
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
      [null, 'The model could not generate this.'],
      ['', 'The model could not generate this.'],
      [' \n', 'The model could not generate this.'],
      [{ code: 5 }, 'The model could not generate this.'],
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

    it('reports gone for a prediction that Replicate does not have', async () => {
      const handle = await accept();
      fake.status = 'lose';
      expect(await captureUpstreamError(upstream().poll(handle))).to.include({ fault: 'gone', hasResponse: true });
    });

    for (const how of ['error', 'busy', 'garbage', 'drop', 'hang'] as const) {
      it(`reports unavailable if Replicate fails with ${how}`, async () => {
        const handle = await accept();
        fake.status = how;
        expect(await captureUpstreamError(upstream().poll(handle))).to.include({ fault: 'unavailable' });
      });
    }

    for (const body of [{}, [], 'succeeded', null, { status: 7 }]) {
      it(`reports unavailable for the response ${JSON.stringify(body)}`, async () => {
        expect(await captureUpstreamError(seen(body))).to.include({ fault: 'unavailable', hasResponse: true });
      });
    }

    it('never requests an address at another origin, even if a handle contains one', async () => {
      const foreign = `${stranger.url}/v1/predictions/p1`;
      const handle = { id: 'p1', get_url: foreign, cancel_url: `${foreign}/cancel` };
      expect(await captureUpstreamError(upstream().poll(handle))).to.include({ fault: 'unavailable' });
      expect(await captureUpstreamError(upstream().cancel(handle))).to.include({ fault: 'unavailable' });
      expect(stranger.requests).to.deep.equal([]);
    });
  });

  describe('cancel', () => {
    it('stops the prediction', async () => {
      fake.outcome = 'wait';
      const handle = await accept();
      await upstream().cancel(handle);
      const message = 'The generation was cancelled.';
      expect(await upstream().poll(handle)).to.deep.equal({ state: 'failed', message });
    });

    it('ignores a cancellation that comes too late, or a prediction that does not exist', async () => {
      const handle = await accept();
      await upstream().cancel(handle);
      expect((await upstream().poll(handle)).state).to.equal('succeeded');
      const own = `${fake.url}/v1/predictions/missing`;
      await upstream().cancel({ id: 'missing', get_url: own, cancel_url: `${own}/cancel` });
    });
  });

  describe('probe', () => {
    it('succeeds if the model exists, whatever the version is', async () => {
      await upstream('owner/name').probe();
      await upstream('owner/name:9dcd6d78e7c6').probe();
    });

    it('sends the key, as every request does', () => {
      const keys = new Set(fake.requests.map(({ authorization }) => authorization));
      expect([...keys]).to.deep.equal(['Bearer test']);
    });

    for (const how of ['error', 'busy', 'garbage', 'drop', 'hang'] as const) {
      it(`fails if Replicate fails with ${how}`, async () => {
        fake.model = how;
        expect(await captureUpstreamError(upstream().probe())).to.include({ fault: 'unavailable' });
      });
    }

    for (const [what, answer] of [
      ['a rejected key', { status: 401, body: { title: 'Unauthenticated' } }],
      ['a missing model', { status: 404, body: { detail: 'not found' } }],
      ['a list', { status: 200, body: [] }],
      ['nothing', { status: 200, body: null }],
      ['another status', { status: 204, body: {} }],
    ] as const) {
      it(`fails for ${what}`, async () => {
        fake.model = answer;
        expect(await captureUpstreamError(upstream().probe())).to.include({ fault: 'unavailable' });
      });
    }
  });
});

function buildSubmission({ deadlineMs = 60_000 } = {}) {
  return {
    generationId: randomUUID(),
    input: { prompt: randomUUID(), resolution: '1K' },
    deadlineAt: new Date(Date.now() + deadlineMs),
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
