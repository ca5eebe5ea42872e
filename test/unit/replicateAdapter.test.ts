import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { setTestConfig } from '../harness/testConfig.ts';
import type { UpstreamRoute } from '../../shared/gateways/upstreams/upstreamConfig.ts';
import type { Upstream, UpstreamError, UpstreamHandle } from '../../shared/gateways/upstreams/upstream.ts';
import { FakeReplicate, type VerbatimResponse } from '../fakes/upstreams/replicate.ts';

const NOT_ALLOWED = "The model's content policy does not allow this. Please change the prompt and try again.";
const BROKE_DOWN = 'The model broke down over this job. Please try again.';

describe('the adapter for Replicate', () => {
  const standIn = new FakeReplicate();
  /** Somebody else's server, with the same manners. */
  const stranger = new FakeReplicate();
  let replicateUpstream: (route: UpstreamRoute) => Upstream;
  before(async () => {
    setTestConfig({ UPSTREAM_TIMEOUT_MS: '1000' });
    ({ replicateUpstream } = await import('../../shared/gateways/upstreams/replicate.ts'));
    await Promise.all([standIn.start(), stranger.start()]);
  });
  after(() => Promise.all([standIn.stop(), stranger.stop()]));
  beforeEach(() => standIn.reset());

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
        takesForms: false,
      },
    });
  const upstream = (modelId?: string) => upstreamTo(`${standIn.url}/v1`, modelId);

  /** Submits a job that must be accepted. */
  async function accept(asked = buildSubmission(), modelId?: string): Promise<UpstreamHandle> {
    const submission = await upstream(modelId).submit(asked);
    if (submission.state !== 'accepted') throw new Error(`Not accepted: ${JSON.stringify(submission)}`);
    return submission.handle;
  }

  const submitTo = async (answer: VerbatimResponse) => {
    standIn.submit = answer;
    return upstream().submit(buildSubmission());
  };

  /** What a look finds where it is answered with this. */
  const seen = async (body: unknown) => {
    const handle = await accept();
    standIn.status = { status: 200, body };
    return upstream().check(handle);
  };

  describe('when it submits', () => {
    it('creates a prediction at the address of the model, and does not wait for its end', async () => {
      const asked = buildSubmission();
      await accept(asked, 'bytedance/seedance-1-pro');
      const [prediction] = standIn.predictionsFor(asked.input.prompt);
      expect(prediction).to.deep.include({ model: 'bytedance/seedance-1-pro', version: null, input: asked.input });
      expect(prediction?.prefer).to.equal('respond-async');
    });

    it('creates a prediction of a certain version by that version', async () => {
      const asked = buildSubmission();
      await accept(asked, 'owner/name:9dcd6d78e7c6');
      const [prediction] = standIn.predictionsFor(asked.input.prompt);
      expect(prediction).to.deep.include({ model: null, version: '9dcd6d78e7c6', input: asked.input });
    });

    for (const [what, deadlineMs, cancelAfter] of [
      ["at the job's deadline", 90_000, '90s'],
      ['after 5 seconds at the least', 1_000, '5s'],
      ['after 5 seconds where the deadline has passed', -60_000, '5s'],
      ['after 24 hours at the most', 72 * 3_600_000, '86400s'],
    ] as const) {
      it(`has the prediction cancelled by Replicate ${what}`, async () => {
        const asked = buildSubmission({ deadlineMs });
        await accept(asked);
        expect(standIn.predictionsFor(asked.input.prompt)[0]?.cancelAfter).to.equal(cancelAfter);
      });
    }

    it('keeps of the receipt the id and the addresses, and nothing else', async () => {
      const asked = buildSubmission();
      const handle = await accept(asked);
      const id = standIn.predictionsFor(asked.input.prompt)[0]?.id as string;
      const own = `${standIn.url}/v1/predictions/${id}`;
      expect(handle).to.deep.equal({ id, get_url: own, cancel_url: `${own}/cancel` });
    });

    for (const status of [200, 201, 202]) {
      it(`takes ${status} for an acceptance, also with a status that it does not know`, async () => {
        const submission = await submitTo({ status, body: { id: 'p1', status: 'booting' } });
        expect(submission.state).to.equal('accepted');
      });
    }

    it('makes addresses that are missing from the id', async () => {
      const submission = await submitTo({ status: 201, body: { id: 'p/1', status: 'starting' } });
      const own = `${standIn.url}/v1/predictions/p%2F1`;
      const handle = { id: 'p/1', get_url: own, cancel_url: `${own}/cancel` };
      expect(submission).to.deep.equal({ state: 'accepted', handle });
    });

    it('never sends the key to the addresses of others: it makes its own from the id', async () => {
      const foreign = `${stranger.url}/v1/predictions/p1`;
      const urls = { get: foreign, cancel: `${foreign}/cancel` };
      const submission = await submitTo({ status: 201, body: { id: 'p1', status: 'starting', urls } });
      const own = `${standIn.url}/v1/predictions/p1`;
      const handle = { id: 'p1', get_url: own, cancel_url: `${own}/cancel` };
      expect(submission).to.deep.equal({ state: 'accepted', handle });
    });

    it('ends a job at once whose prediction has succeeded already', async () => {
      const output = 'https://replicate.delivery/xezq/out.png';
      const submission = await submitTo({ status: 201, body: { id: 'p1', status: 'succeeded', output } });
      expect(submission).to.deep.equal({ state: 'succeeded', output: { url: output }, isWatermarked: false });
    });

    for (const [status, error, message] of [
      ['failed', 'NSFW content detected. Try running it again, or try a different prompt.', NOT_ALLOWED],
      ['canceled', null, 'The job was cancelled.'],
      ['aborted', null, 'The model did not start in time. Please try again.'],
    ] as const) {
      it(`ends a job at once whose prediction is ${status} already`, async () => {
        const submission = await submitTo({ status: 201, body: { id: 'p1', status, error, output: null } });
        expect(submission).to.deep.equal({ state: 'failed', message });
      });
    }

    it('is refused an input that does not fit, with what is said of the fields', async () => {
      standIn.submit = 'refuse';
      expect(await captureUpstreamError(upstream().submit(buildSubmission()))).to.include({
        fault: 'refused',
        message: 'The prompt is not one that the stand-in takes',
      });
    });

    const refusals: [string, number, unknown, string][] = [
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
      ['nothing', 422, {}, 'The model could not make this.'],
      ['something that is no object', 400, 'no', 'The model could not make this.'],
      ['something with NULs', 400, { detail: 'a\u0000b' }, 'ab'],
      ['more than can be shown', 400, { detail: 'x'.repeat(9_000) }, 'x'.repeat(500)],
    ];
    for (const [what, status, body, message] of refusals) {
      it(`is refused with ${status} and ${what}, in words that can be shown`, async () => {
        expect(await captureUpstreamError(submitTo({ status, body }))).to.include({ fault: 'refused', message });
      });
    }

    it('does not blame the customer for a version that is not there', async () => {
      const body = {
        title: 'Invalid version or not permitted',
        detail: "The specified version does not exist (or perhaps you don't have permission to use it?)",
        status: 422,
      };
      expect(await captureUpstreamError(submitTo({ status: 422, body }))).to.include({
        fault: 'unavailable',
        wasAnswered: true,
      });
    });

    for (const status of [401, 402, 403, 404, 500, 502, 503]) {
      it(`knows of ${status} that nothing was accepted`, async () => {
        const fault = await captureUpstreamError(submitTo({ status, body: { detail: 'no', title: 'No', status } }));
        expect(fault).to.include({ fault: 'unavailable', wasAnswered: true });
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
      it(`is told ${where} how long to wait when it is throttled`, async () => {
        const fault = await captureUpstreamError(submitTo({ status: 429, headers, body }));
        expect(fault).to.include({ fault: 'unavailable', wasAnswered: true, retryAfterMs });
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
      it(`does not know whether it was accepted where the receipt ${what}`, async () => {
        expect(await captureUpstreamError(submitTo(answer))).to.include({ fault: 'unknown', wasAnswered: true });
      });
    }

    for (const how of ['drop', 'drop after acceptance', 'hang'] as const) {
      it(`does not know whether it was accepted where the connection does this: ${how}`, async () => {
        standIn.submit = how;
        expect(await captureUpstreamError(upstream().submit(buildSubmission()))).to.include({
          fault: 'unknown',
          wasAnswered: false,
        });
      });
    }

    it('does not know whether it was accepted where the answer is not JSON', async () => {
      standIn.submit = 'garbage';
      expect(await captureUpstreamError(upstream().submit(buildSubmission()))).to.include({ fault: 'unknown' });
    });

    it('knows that nothing was accepted where nobody listens', async () => {
      const nobody = await new FakeReplicate().start();
      await nobody.stop();
      const fault = await captureUpstreamError(upstreamTo(`${nobody.url}/v1`).submit(buildSubmission()));
      expect(fault).to.include({ fault: 'unavailable', wasAnswered: false });
    });
  });

  describe('when it looks', () => {
    it('finds a prediction running, then succeeded, with its file and the key for it', async () => {
      standIn.outcome = 'wait';
      const asked = buildSubmission();
      const handle = await accept(asked);
      expect(await upstream().check(handle)).to.deep.equal({ state: 'running' });
      standIn.end(asked.input.prompt, 'succeeded');
      expect(await upstream().check(handle)).to.deep.equal({
        state: 'succeeded',
        output: { url: `${standIn.url}/files/${String(handle['id'])}.png`, headers: { authorization: 'Bearer test' } },
        isWatermarked: false,
      });
    });

    it('takes the first file of a list', async () => {
      standIn.outputAs = 'list';
      const progress = await upstream().check(await accept());
      expect(progress).to.have.property('state', 'succeeded');
    });

    for (const status of ['starting', 'processing', 'queued', 'a word of tomorrow']) {
      it(`takes "${status}" for running`, async () => {
        expect(await seen({ status })).to.deep.equal({ state: 'running' });
      });
    }

    it('takes a file on a host of its own without the key', async () => {
      const url = `${stranger.url}/out.mp4`;
      const progress = await seen({ status: 'succeeded', output: [null, '', url, 'https://replicate.delivery/2'] });
      expect(progress).to.deep.equal({ state: 'succeeded', output: { url }, isWatermarked: false });
    });

    for (const output of [null, undefined, '', 7, [], [null], [['https://a']], { url: 'https://a' }]) {
      it(`finds no output in ${JSON.stringify(output) ?? 'nothing'}`, async () => {
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
      [null, 'The model could not make this.'],
      ['', 'The model could not make this.'],
      [' \n', 'The model could not make this.'],
      [{ code: 5 }, 'The model could not make this.'],
    ];
    for (const [error, message] of errors) {
      it(`tells of the failure ${JSON.stringify(error).slice(0, 50)} in plain words`, async () => {
        expect(await seen({ status: 'failed', error })).to.deep.equal({ state: 'failed', message });
      });
    }

    it('tells of a prediction that was cancelled, and of one that was never begun', async () => {
      expect(await seen({ status: 'canceled' })).to.deep.equal({ state: 'failed', message: 'The job was cancelled.' });
      const message = 'The model did not start in time. Please try again.';
      expect(await seen({ status: 'aborted' })).to.deep.equal({ state: 'failed', message });
    });

    it('finds a prediction gone that Replicate does not know', async () => {
      const handle = await accept();
      standIn.status = 'forget';
      expect(await captureUpstreamError(upstream().check(handle))).to.include({ fault: 'gone', wasAnswered: true });
    });

    for (const how of ['error', 'busy', 'garbage', 'drop', 'hang'] as const) {
      it(`is not answered where Replicate does this: ${how}`, async () => {
        const handle = await accept();
        standIn.status = how;
        expect(await captureUpstreamError(upstream().check(handle))).to.include({ fault: 'unavailable' });
      });
    }

    for (const body of [{}, [], 'succeeded', null, { status: 7 }]) {
      it(`is not answered by ${JSON.stringify(body)}`, async () => {
        expect(await captureUpstreamError(seen(body))).to.include({ fault: 'unavailable', wasAnswered: true });
      });
    }

    it('never asks an address of others, also where a handle has one', async () => {
      const foreign = `${stranger.url}/v1/predictions/p1`;
      const handle = { id: 'p1', get_url: foreign, cancel_url: `${foreign}/cancel` };
      expect(await captureUpstreamError(upstream().check(handle))).to.include({ fault: 'unavailable' });
      expect(await captureUpstreamError(upstream().cancel(handle))).to.include({ fault: 'unavailable' });
      expect(stranger.requests).to.deep.equal([]);
    });
  });

  describe('when it cancels', () => {
    it('stops the prediction', async () => {
      standIn.outcome = 'wait';
      const handle = await accept();
      await upstream().cancel(handle);
      const message = 'The job was cancelled.';
      expect(await upstream().check(handle)).to.deep.equal({ state: 'failed', message });
    });

    it('does not mind that it came too late, or that nobody knows the prediction', async () => {
      const handle = await accept();
      await upstream().cancel(handle);
      expect((await upstream().check(handle)).state).to.equal('succeeded');
      const own = `${standIn.url}/v1/predictions/nobody`;
      await upstream().cancel({ id: 'nobody', get_url: own, cancel_url: `${own}/cancel` });
    });
  });

  describe('when it probes', () => {
    it('is content with a model that is there, of whatever version', async () => {
      await upstream('owner/name').probe();
      await upstream('owner/name:9dcd6d78e7c6').probe();
    });

    it('has the key with it, as with everything else', () => {
      const keys = new Set(standIn.requests.map(({ authorization }) => authorization));
      expect([...keys]).to.deep.equal(['Bearer test']);
    });

    for (const how of ['error', 'busy', 'garbage', 'drop', 'hang'] as const) {
      it(`is not content where Replicate does this: ${how}`, async () => {
        standIn.model = how;
        expect(await captureUpstreamError(upstream().probe())).to.include({ fault: 'unavailable' });
      });
    }

    for (const [what, answer] of [
      ['a key that is not taken', { status: 401, body: { title: 'Unauthenticated' } }],
      ['a model that is not there', { status: 404, body: { detail: 'not found' } }],
      ['a list', { status: 200, body: [] }],
      ['nothing', { status: 200, body: null }],
      ['another status', { status: 204, body: {} }],
    ] as const) {
      it(`is not content with ${what}`, async () => {
        standIn.model = answer;
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

/** What a call throws, which must be an UpstreamError. */
async function captureUpstreamError(call: Promise<unknown>): Promise<UpstreamError> {
  try {
    const result = await call;
    throw new Error(`Nothing was thrown, but this returned: ${JSON.stringify(result)}`);
  } catch (error) {
    if ((error as Error).name !== 'UpstreamError') throw error;
    return error as UpstreamError;
  }
}
