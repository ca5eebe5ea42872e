import { expect } from 'chai';
import type { Upstream, UpstreamError, UpstreamHandle } from '../../shared/gateways/upstreams/upstream.ts';
import type { ModelKind } from '../../shared/spec/catalog.ts';
import { FakeUpstream } from '../fakes/fakeUpstream.ts';
import type { VerbatimResponse } from '../fakes/misbehave.ts';
import {
  buildFalHandle,
  buildSubmission,
  buildUpstream,
  captureUpstreamError,
  getHandle,
  useServers,
} from '../harness/upstreamAdapter.ts';

const STATUS = 'GET /owner/app/requests/r1/status';
const RESULT = 'GET /owner/app/requests/r1';
const OUTPUT_URL = 'https://v3.fal.media/out';
const DONE = { state: 'succeeded', outputs: [{ url: OUTPUT_URL }], isWatermarked: false };

/** Results from which it is not clear whether the run has ended. */
const UNCLEAR: VerbatimResponse[] = [
  { status: 200, body: {} },
  { status: 200, body: '<html>' },
  { status: 200, body: { status: 'IN_PROGRESS' } },
  { status: 202, body: { status: 'IN_QUEUE' } },
  { status: 202, body: { video: { url: OUTPUT_URL } } },
  { status: 400, body: { detail: 'duration must be 5' } },
  { status: 400, body: { detail: [{ type: 'value_error', msg: 'Request is still in progress' }] } },
  { status: 401, body: {} },
  { status: 404, body: { detail: 'Request not found' } },
  { status: 422, body: { detail: 'Request is still in progress' } },
  { status: 429, body: {} },
  { status: 500, body: { detail: 'Request is still in progress' } },
];

describe('the fal adapter, polling a run that may have ended', () => {
  const fake = new FakeUpstream('test');
  /** A server at another origin. */
  const stranger = new FakeUpstream('test');
  useServers(fake, stranger);

  const upstream = (kind: ModelKind = 'video'): Upstream =>
    buildUpstream('fal', kind, 'owner/app/text-to-video', { baseUrl: fake.url });
  const poll = ({ handle = buildFalHandle(fake.url), kind }: { handle?: UpstreamHandle; kind?: ModelKind } = {}) =>
    upstream(kind).poll(handle, { mayHaveEnded: true });
  const listCalls = () => fake.requests.map(({ call }) => call);

  /** Submits a job that does not end by itself. */
  async function submit(): Promise<{ handle: UpstreamHandle; prompt: string }> {
    fake.outcome = 'wait';
    const request = buildSubmission({ input: { duration: '5' } });
    const handle = getHandle(await upstream().submit(request));
    fake.requests.length = 0;
    return { handle, prompt: request.input.prompt };
  }

  it('returns the output after one request, for the result', async () => {
    fake.result = { status: 200, body: { video: { url: OUTPUT_URL } } };
    expect(await poll()).to.deep.equal(DONE);
    fake.result = { status: 200, body: { images: [{ url: OUTPUT_URL }] } };
    expect(await poll({ kind: 'image' })).to.deep.equal(DONE);
    const request = { call: RESULT, authorization: 'Key test' };
    expect(fake.requests).to.deep.equal([request, request]);
  });

  it('reports running after one request if the result says that the request is still in progress', async () => {
    fake.result = { status: 400, body: { detail: 'Request is still in progress' } };
    expect(await poll()).to.deep.equal({ state: 'running' });
    expect(listCalls()).to.deep.equal([RESULT]);
  });

  it('sends one request while a job is queued, one while it runs, and one after it has succeeded', async () => {
    fake.isQueueing = true;
    const { handle, prompt } = await submit();
    const states = [(await poll({ handle })).state];
    fake.begin(prompt);
    states.push((await poll({ handle })).state);
    fake.end(prompt, 'succeeded');
    states.push((await poll({ handle })).state);
    expect(states).to.deep.equal(['running', 'running', 'succeeded']);
    expect(listCalls()).to.deep.equal(Array(3).fill(`GET /owner/app/requests/${handle['request_id'] as string}`));
  });

  for (const result of UNCLEAR) {
    const name = `the result ${result.status} ${JSON.stringify(result.body)}`;

    it(`asks for the status after ${name}, and reports that`, async () => {
      fake.result = result;
      fake.status = { status: 202, body: { status: 'IN_QUEUE' } };
      expect(await poll()).to.deep.equal({ state: 'running', isWaiting: true });
      expect(listCalls()).to.deep.equal([RESULT, STATUS]);
      fake.status = { status: 404, body: { status: 'NOT_FOUND' } };
      expect(await captureUpstreamError(poll())).to.include({ fault: 'gone', hasResponse: true });
      fake.status = { status: 503, headers: { 'retry-after': '3' }, body: {} };
      expect(await captureUpstreamError(poll())).to.include({ fault: 'unavailable', retryAfterMs: 3_000 });
    });

    it(`reports the same end for ${name} of a completed run as a poll that asks for the status first`, async () => {
      fake.result = result;
      fake.status = { status: 200, body: { status: 'COMPLETED' } };
      const expected = await captureOutcome(upstream().poll(buildFalHandle(fake.url)));
      fake.requests.length = 0;
      expect(await captureOutcome(poll())).to.deep.equal(expected);
      expect(listCalls()).to.deep.equal([RESULT, STATUS, RESULT]);
    });
  }

  it('reads the result again if the run ends before the request for the status', async () => {
    const { handle, prompt } = await submit();
    fake.result = { status: 400, body: { detail: 'Request is in another state' } };
    fake.changeBody = (body, operation) => {
      if (operation === 'status') fake.result = { status: 200, body: { video: { url: OUTPUT_URL } } };
      return body;
    };
    fake.end(prompt, 'succeeded');
    expect(await poll({ handle })).to.deep.equal(DONE);
  });

  for (const how of ['hang', 'drop'] as const) {
    it(`reports unavailable if the request for the result ends with ${how}`, async () => {
      fake.result = how;
      expect(await captureUpstreamError(poll())).to.include({ fault: 'unavailable', hasResponse: false });
      expect(listCalls()).to.deep.equal([RESULT]);
    });
  }

  it('never sends the key to another origin', async () => {
    const handle = { ...buildFalHandle(fake.url), response_url: `${stranger.url}/owner/app/requests/r1` };
    expect(await captureUpstreamError(poll({ handle }))).to.include({ fault: 'gone' });
    expect(stranger.requests).to.deep.equal([]);
  });
});

/** Returns the progress of a poll, or fault and message of its error. */
async function captureOutcome(polling: Promise<unknown>): Promise<unknown> {
  try {
    return await polling;
  } catch (error) {
    const { fault, message } = error as UpstreamError;
    return { fault, message };
  }
}
