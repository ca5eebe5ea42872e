import { expect } from 'chai';
import type { UpstreamHandle } from '../../shared/gateways/upstreams/upstream.ts';
import type { UpstreamSettings } from '../../shared/gateways/upstreams/upstreamSettings.ts';
import { FakeUpstream, isForm } from '../fakes/fakeUpstream.ts';
import type { VerbatimResponse } from '../fakes/misbehave.ts';
import {
  BROKE_DOWN,
  buildSubmission as job,
  buildUpstream,
  captureUpstreamError,
  getHandle,
  NOT_ALLOWED,
  NOT_MADE,
  useServers,
} from '../harness/upstreamAdapter.ts';

describe('the OpenAI adapter for videos', () => {
  const fake = new FakeUpstream('test');
  useServers(fake);
  beforeEach(() => {
    fake.key = 'test';
    // Ids may contain characters that need escaping in a path.
    fake.onAccepted = (accepted) => {
      accepted.id += '/.?#%';
    };
  });

  const upstreamFor = (kind: 'image' | 'video', settings: Partial<UpstreamSettings> = {}) =>
    buildUpstream('openai', kind, 'some/model', { baseUrl: `${fake.url}/v1`, ...settings });
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
  const probe = (settings: Partial<UpstreamSettings> = {}) => upstreamFor('video', settings).probe();

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
      expect(accepted?.input).to.deep.equal({ model: 'some/model', ...asked.input });
      expect(accepted && isForm(accepted)).to.equal(false);
      expect(accepted?.request.headers['idempotency-key']).to.equal(asked.generationId);
    });

    it('sends form data if configured, with values that are not strings as JSON', async () => {
      const input = { seconds: '5', fps: 16, generate_sound: true, extra_params: { shift: 5, modes: ['a'] } };
      const asked = job({ input });
      await upstreamFor('video', { acceptsForm: true }).submit(asked);
      const [accepted] = fake.jobsFor(asked.input.prompt);
      expect(accepted && isForm(accepted)).to.equal(true);
      expect(accepted?.request.headers['idempotency-key']).to.equal(asked.generationId);
      expect(accepted?.input).to.deep.equal({
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
      if (progress.state !== 'succeeded' || !('url' in progress.outputs[0])) throw new Error('no address');
      expect(upstream.getFileHeaders(progress.outputs[0].url)).to.deep.equal({});
    });

    it('returns failed if the response to the submit says so', async () => {
      const body = { id: 'video_1', status: 'failed', error: { code: 'moderation_blocked', message: 'No.' } };
      expect(await submitVideoTo({ status: 200, body })).to.deep.equal({ state: 'failed', message: NOT_ALLOWED });
    });

    for (const id of ['.', '..']) {
      it(`reports a submit of unknown outcome for the id "${id}"`, async () => {
        expect(await captureUpstreamError(submitVideoTo({ status: 200, body: { id, status: 'queued' } }))).to.include({
          fault: 'unknown',
        });
      });
    }

    for (const [what, answer, message] of [
      ['a policy with another status', envelope(403, { code: 'content_policy_violation' }), NOT_ALLOWED],
      ['a policy named by its type', envelope(422, { type: 'content_filter', code: null }), NOT_ALLOWED],
      ['bad input', envelope(400, { message: 'Invalid seconds.', code: 'invalid_value' }), 'Invalid seconds.'],
      ['an error that is a text', { status: 400, body: { error: 'No.' } }, 'No.'],
    ] as [string, VerbatimResponse, string][]) {
      it(`reports rejected for ${what}`, async () => {
        fake.submit = answer;
        expect(await captureUpstreamError(submitVideo())).to.include({ fault: 'rejected', message });
      });
    }

    it('reports an account error instead of an invalid request', async () => {
      for (const code of ['billing_hard_limit_reached', 'insufficient_quota']) {
        expect(await captureUpstreamError(submitVideoTo(envelope(400, { code })))).to.include({ fault: 'unavailable' });
      }
    });
  });

  describe('poll of a video', () => {
    it('escapes the id in the content address', async () => {
      const { handle, prompt } = await acceptVideo();
      fake.end(prompt, 'succeeded');
      expect(await poll(handle)).to.have.nested.property(
        'outputs[0].url',
        `${fake.url}/v1/videos/${encodeURIComponent(handle['id'] as string)}/content`,
      );
    });

    it('returns the content address, which needs the key', async () => {
      const { handle, prompt } = await acceptVideo();
      fake.end(prompt, 'succeeded');
      const progress = await poll(handle);
      if (progress.state !== 'succeeded' || !('url' in progress.outputs[0])) throw new Error('no address');
      const { url } = progress.outputs[0];
      const headers = upstreamFor('video').getFileHeaders(url) ?? {};
      expect((await fetch(url)).status).to.equal(401);
      expect((await fetch(url, { headers })).headers.get('content-type')).to.equal('video/mp4');
    });

    for (const status of ['failed', 'cancelled', 'expired'] as const) {
      it(`reports failed for the status ${status}`, async () => {
        const error = status === 'failed' ? { code: 'invalid_prompt', message: 'The fake was set to fail.' } : null;
        const message = error?.message ?? NOT_MADE;
        expect(await seen({ id: 'x', status, error })).to.deep.equal({ state: 'failed', message });
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
      [{}, NOT_MADE],
      [null, NOT_MADE],
    ] as const) {
      it(`translates ${JSON.stringify(error)} into a customer message`, async () => {
        expect(await seen({ id: 'x', status: 'failed', error })).to.deep.equal({ state: 'failed', message });
      });
    }

    it('returns that the output is watermarked if the response says so', async () => {
      const progress = await seen({ id: 'x', status: 'completed', watermarked: true });
      expect(progress).to.deep.include({ state: 'succeeded', isWatermarked: true });
    });

    it('returns an address in the response, which receives no key', async () => {
      const url = 'https://bucket.example/a.mp4';
      const progress = await seen({ id: 'x', status: 'completed', url });
      expect(progress).to.have.property('outputs').that.deep.equals([{ url }]);
      expect(upstreamFor('video').getFileHeaders(url)).to.equal(undefined);
    });

    it('cancels a video by deleting it, and ignores the response', async () => {
      const { handle, prompt } = await acceptVideo();
      await upstreamFor('video').cancel(handle);
      expect(fake.jobsFor(prompt)[0]?.removed).to.equal(true);
      await upstreamFor('video').cancel({ id: 'missing' });
    });
  });

  describe('probe', () => {
    it('succeeds if the upstream lists its models, or responds in JSON that it has no list', async () => {
      await probe();
      fake.probe = { status: 404, body: { detail: 'Not Found' } };
      await probe();
    });

    it('fails for JSON that is no object, and without a key', async () => {
      fake.probe = { status: 200, body: '"ok"' };
      expect(await captureUpstreamError(probe())).to.include({ fault: 'unavailable', hasResponse: true });
      fake.probe = undefined;
      expect(await captureUpstreamError(probe({ key: null }))).to.include({ fault: 'unavailable', hasResponse: true });
    });
  });
});

function envelope(status: number, error: Record<string, unknown>): VerbatimResponse {
  return { status, body: { error: { type: 'invalid_request_error', message: 'x', ...error } } };
}
