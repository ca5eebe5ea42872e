import { randomUUID } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Operation } from '../../dev/sampleUpstream/protocols/protocol.ts';
import type { Upstream, UpstreamHandle } from '../../shared/gateways/upstreams/upstream.ts';
import type { UpstreamSettings } from '../../shared/gateways/upstreams/upstreamSettings.ts';
import type { ModelKind } from '../../shared/spec/catalog.ts';
import { FakeUpstream } from '../fakes/fakeUpstream.ts';
import {
  BLOCKED,
  buildSubmission,
  buildUpstream,
  captureUpstreamError,
  getHandle,
  NOT_ALLOWED,
  NOT_MADE,
  useServers,
} from '../harness/upstreamAdapter.ts';
import { useFolder } from '../harness/useFolder.ts';
import { CASES } from './upstreamAdapters.cases.ts';

const REJECTED = { state: 'failed', message: NOT_ALLOWED };
const withoutNulls = (body: object): object =>
  Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null));

/** Connection failures and responses, and whether a response arrived. */
const QUERY_FAULTS = [
  ['error', true],
  ['busy', true],
  ['garbage', true],
  ['drop', false],
  ['hang', false],
] as const;

for (const { name, settings: own, path, authorization, probe, receipt, receiptStatus, ...differences } of CASES) {
  const { runningStatuses, output, outputOperation, input = {}, confirms, leavesOpen } = differences;
  describe(`the ${name} adapter, as every adapter`, () => {
    const fake = new FakeUpstream('test');
    const folder = useFolder({ isCleared: true });
    useServers(fake);

    const upstream = (settings: Partial<UpstreamSettings> = {}, kind: ModelKind = 'video'): Upstream =>
      buildUpstream(name, kind, 'owner/name', { baseUrl: `${fake.url}${path}`, ...own, ...settings });

    const newFile = async () => join(folder, randomUUID());
    const submission = () => buildSubmission({ input, newFile });
    const submit = () => upstream().submit(submission());

    /** Submits a generation that keeps running. */
    async function accept(): Promise<{ handle: UpstreamHandle; prompt: string; id: string }> {
      fake.outcome = 'wait';
      const request = submission();
      const handle = getHandle(await upstream().submit(request));
      const { prompt } = request.input;
      return { handle, prompt, id: fake.jobsFor(prompt)[0]?.id as string };
    }

    /** Submits a generation that ends at once, and returns its result. */
    async function run(kind: ModelKind) {
      const request = buildSubmission({ input: kind === 'video' ? input : {}, newFile });
      const submitted = await upstream({}, kind).submit(request);
      return submitted.state === 'accepted' ? upstream({}, kind).poll(submitted.handle) : submitted;
    }

    describe('submit', () => {
      it('sends the key', async () => {
        await submit();
        expect(fake.requests.map((request) => request.authorization)).to.deep.equal([authorization]);
      });

      for (const how of ['drop', 'drop after acceptance', 'hang', 'garbage'] as const) {
        it(`reports a submit of unknown outcome after ${how}`, async () => {
          fake.submit = how;
          const hasResponse = how === 'garbage';
          expect(await captureUpstreamError(submit())).to.include({ fault: 'unknown', hasResponse });
        });
      }

      it('reports unavailable if the connection is refused', async () => {
        const call = upstream({ baseUrl: `http://127.0.0.1:1${path}` }).submit(submission());
        expect(await captureUpstreamError(call)).to.include({ fault: 'unavailable', hasResponse: false });
      });

      for (const status of [301, 307, 401, 402, 404, 429, 500, 502, 503]) {
        it(`reports unavailable after ${status}, which means that nothing was accepted, with the requested delay`, async () => {
          fake.submit = { status, headers: { 'retry-after': '7' }, body: { detail: 'no', error: { message: 'x' } } };
          const expected = { fault: 'unavailable', hasResponse: true, retryAfterMs: 7_000 };
          expect(await captureUpstreamError(submit())).to.include(expected);
        });
      }

      for (const status of [200, 408, 504, 524]) {
        it(`reports a submit of unknown outcome after ${status} without an id`, async () => {
          fake.submit = { status, headers: { 'retry-after': '7' }, body: { error: { message: 'x' } } };
          const expected = { fault: 'unknown', hasResponse: true, retryAfterMs: 0 };
          expect(await captureUpstreamError(submit())).to.include(expected);
        });
      }

      for (const id of [undefined, '', 5, 'with space', 'with\u0000', 'x'.repeat(3_000)]) {
        it(`reports a submit of unknown outcome for the id ${JSON.stringify(id)?.slice(0, 20)}, which cannot be stored`, async () => {
          fake.submit = { status: receiptStatus, body: receipt(id, fake.url) };
          expect(await captureUpstreamError(submit())).to.include({ fault: 'unknown', hasResponse: true });
        });
      }

      for (const body of ['', '<html>', '"thanks"', '{}', '{"status":{"toString":1}}']) {
        it(`reports a submit of unknown outcome for the body ${JSON.stringify(body)}`, async () => {
          fake.submit = { status: 200, body };
          expect(await captureUpstreamError(submit())).to.include({ fault: 'unknown', hasResponse: true });
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
          fake.submit = { status: 429, headers: { 'retry-after': header }, body: {} };
          const expected = { fault: 'unavailable', hasResponse: true, retryAfterMs };
          expect(await captureUpstreamError(submit())).to.include(expected);
        });
      }

      it('reports rejected for a prompt that the content policy does not allow', async () => {
        fake.submit = 'refuse';
        expect(await captureUpstreamError(submit())).to.include({ fault: 'rejected', message: NOT_ALLOWED });
      });

      for (const status of [401, 402, 403]) {
        for (const body of [
          { detail: 'User is locked. Reason: exhausted balance.', error: { message: 'Policy: no quota.' } },
          { error: { code: 'insufficient_quota' } },
          { message: 'Missing Authentication Token' },
        ]) {
          it(`reports an account error after ${status} with the words ${JSON.stringify(body)}`, async () => {
            fake.submit = { status, body };
            const expected = { fault: 'unavailable', isAccountError: true };
            expect(await captureUpstreamError(submit())).to.include(expected);
          });
        }
      }

      const rejections: [string, unknown, string][] = [
        ['in a sentence', { detail: 'Too long.' }, 'Too long.'],
        ['for a field', { detail: [{ msg: 'Field required' }] }, 'Field required'],
        ['without a word', {}, NOT_MADE],
        ['in HTML', '<html>', NOT_MADE],
        ['in JSON that is no object', '"no"', NOT_MADE],
        ['with NULs and half a pair', { detail: 'a\u0000b\ud800' }, 'ab\ufffd'],
        ['at length', { detail: 'x'.repeat(9_000) }, 'x'.repeat(500)],
      ];
      for (const [what, body, message] of rejections) {
        for (const status of [400, 422]) {
          it(`reports rejected after ${status} ${what}, with a message that can be shown`, async () => {
            fake.submit = { status, body };
            expect(await captureUpstreamError(submit())).to.include({ fault: 'rejected', message });
          });
        }
      }

      for (const [what, body] of [
        ['in a code', { detail: [{ type: 'content_policy_violation', msg: 'No.' }] }],
        ['in a text', { code: 'permission-denied', error: 'Content violates usage guidelines.' }],
        ['in a message', { error: { message: 'Rejected by our safety system.' } }],
      ] as const) {
        it(`reports rejected after 403 and a reason of the content policy ${what}`, async () => {
          fake.submit = { status: 403, body };
          expect(await captureUpstreamError(submit())).to.include({ fault: 'rejected', message: NOT_ALLOWED });
        });
      }

      for (const status of [403, 405, 406, 451]) {
        for (const body of ['<html>Sorry, you have been blocked', { message: 'Forbidden' }, {}]) {
          it(`reports rejected if a firewall refuses it with ${status} ${JSON.stringify(body)}`, async () => {
            fake.submit = { status, body };
            expect(await captureUpstreamError(submit())).to.include({ fault: 'rejected', message: BLOCKED });
          });
        }
      }
    });

    describe('poll', () => {
      it('reports running and then succeeded, with the output', async () => {
        const { handle, prompt, id } = await accept();
        expect(await upstream().poll(handle)).to.deep.equal({ state: 'running' });
        fake.end(prompt, 'succeeded');
        const { url, headers } = output(fake.url, id);
        const expected = { state: 'succeeded', outputs: [{ url }], isWatermarked: false };
        expect(await upstream().poll(handle)).to.deep.equal(expected);
        expect(upstream().getFileHeaders(url)).to.deep.equal(headers);
      });

      it('reports failed with the message of the model', async () => {
        const { handle, prompt } = await accept();
        fake.end(prompt, 'failed');
        expect(await upstream().poll(handle)).to.deep.equal({ state: 'failed', message: 'The fake was set to fail.' });
      });

      for (const status of runningStatuses) {
        it(`reports running for the status "${status}"`, async () => {
          const { handle } = await accept();
          fake.status = { status: 200, body: { id: 'x', status } };
          expect(await upstream().poll(handle)).to.include({ state: 'running' });
        });
      }

      it('reports gone for a generation that the upstream does not have', async () => {
        const { handle } = await accept();
        fake.status = 'lose';
        expect(await captureUpstreamError(upstream().poll(handle))).to.include({ fault: 'gone', hasResponse: true });
      });

      for (const [how, hasResponse] of QUERY_FAULTS) {
        it(`reports unavailable after ${how}`, async () => {
          const { handle } = await accept();
          fake.status = how;
          expect(await captureUpstreamError(upstream().poll(handle))).to.include({
            fault: 'unavailable',
            hasResponse,
          });
        });
      }

      for (const body of ['{}', '[]', 'null', '"COMPLETED"', 'COMPLETED', '{"id":"x"}']) {
        it(`reports unavailable for the response ${body}, which has no status`, async () => {
          const { handle } = await accept();
          fake.status = { status: 200, body };
          const expected = { fault: 'unavailable', hasResponse: true };
          expect(await captureUpstreamError(upstream().poll(handle))).to.include(expected);
        });
      }

      it('reports unavailable with a wrong key', async () => {
        const { handle } = await accept();
        const call = upstream({ key: 'wrong' }).poll(handle);
        expect(await captureUpstreamError(call)).to.include({ fault: 'unavailable' });
      });

      it('ends a run whose result names content', async () => {
        const { handle } = await accept();
        if (name === 'fal') fake.status = { status: 200, body: { status: 'COMPLETED' } };
        const body = { detail: 'Flagged by the content policy.', error: { code: 'content_policy_violation' } };
        fake[outputOperation] = { status: 403, body };
        expect((await upstream().poll(handle)).state).to.equal('failed');
      });

      for (const kind of ['image', 'video'] as const) {
        const operation: Operation = name === 'openai' && kind === 'image' ? 'submit' : outputOperation;
        const answerWith = (flags: object) => {
          fake.changeBody = (body, which) => (which === operation ? { ...body, ...flags } : body);
        };

        it(`rejects an output of ${kind} models that a safety filter replaced`, async () => {
          for (const flags of [
            { has_nsfw_concepts: [true] },
            { nsfw_content_detected: true },
            { finish_reason: 'SAFETY' },
            { finish_reason: ['content_filter'] },
          ]) {
            answerWith(flags);
            expect(await run(kind)).to.deep.equal(REJECTED);
          }
          expect(await readdir(folder)).to.deep.equal([]);
        });

        it(`accepts an output of ${kind} models that a safety filter kept, also with a reason that is not text`, async () => {
          for (const finish_reason of ['stop', { toString: 'safety' }, [{ toString: null }], 5]) {
            answerWith({ has_nsfw_concepts: [false, true], finish_reason });
            expect((await run(kind)).state).to.equal('succeeded');
          }
        });
      }
    });

    describe('cancel', () => {
      it('stops or deletes the generation, with the key', async () => {
        const { handle, prompt } = await accept();
        await upstream().cancel(handle);
        const [job] = fake.jobsFor(prompt);
        expect(job?.cancelled === true || job?.removed === true).to.equal(true);
        expect(fake.requests.at(-1)).to.include({ authorization });
      });

      it('ignores that it came too late, or that the generation does not exist', async () => {
        const { handle, prompt } = await accept();
        fake.end(prompt, 'succeeded');
        await upstream().cancel(handle);
        expect((await upstream().poll(handle)).state).to.equal('succeeded');
        fake.cancel = 'lose';
        await upstream().cancel(handle);
      });

      for (const response of confirms) {
        it(`confirms that it did not run for ${JSON.stringify(response)}`, async () => {
          const { handle } = await accept();
          fake.cancel = response;
          expect(await upstream().cancel(handle)).to.equal('did_not_run');
        });
      }
      for (const response of [
        ...leavesOpen,
        ...[null, { status: { toString: 1 } }].map((body) => ({ status: 200, body })),
      ]) {
        it(`confirms nothing for ${JSON.stringify(response)}`, async () => {
          const { handle } = await accept();
          fake.cancel = response;
          expect(await upstream().cancel(handle)).to.equal('unknown');
        });
      }

      it('reports that it waits only before it has started, and only if a cancellation can be confirmed', async () => {
        fake.isQueueing = true;
        const { handle, prompt } = await accept();
        const canConfirm = confirms.length > 0;
        expect(await upstream().poll(handle)).to.deep.equal({
          state: 'running',
          ...(canConfirm && { isWaiting: true }),
        });
        fake.begin(prompt);
        expect(await upstream().poll(handle)).to.deep.equal({ state: 'running' });
      });

      it('reports that it waits also if the provider leaves out fields without a value', async () => {
        fake.isQueueing = true;
        fake.changeBody = withoutNulls;
        const { handle } = await accept();
        expect('isWaiting' in (await upstream().poll(handle))).to.equal(confirms.length > 0);
      });

      it('never passes on the message of a cancellation by the owner', async () => {
        const { handle, prompt } = await accept();
        fake.failure = 'Canceled.';
        fake.end(prompt, 'failed');
        expect(await upstream().poll(handle)).to.deep.equal({
          state: 'failed',
          message: 'The generation was cancelled.',
        });
      });

      it('confirms the cancellation of a job in the queue, and not of one that has started or ended', async () => {
        fake.isQueueing = true;
        const queued = await accept();
        expect(await upstream().cancel(queued.handle)).to.equal(confirms.length > 0 ? 'did_not_run' : 'unknown');
        const started = await accept();
        fake.begin(started.prompt);
        expect(await upstream().cancel(started.handle)).to.equal('unknown');
        const ended = await accept();
        fake.end(ended.prompt, 'succeeded');
        expect(await upstream().cancel(ended.handle)).to.equal('unknown');
      });
    });

    describe('probe', () => {
      it('succeeds if the upstream responds, and sends the key', async () => {
        await upstream().probe();
        expect(fake.requests.map((request) => request.authorization)).to.deep.equal([authorization]);
      });

      for (const [how, hasResponse] of QUERY_FAULTS) {
        it(`fails after ${how}`, async () => {
          fake[probe] = how;
          expect(await captureUpstreamError(upstream().probe())).to.include({ fault: 'unavailable', hasResponse });
        });
      }

      for (const [status, body] of [
        [401, {}],
        [402, {}],
        [403, {}],
        [429, {}],
        [500, {}],
        [404, '404 page not found'],
      ] as const) {
        it(`fails for the response ${status} ${JSON.stringify(body)}`, async () => {
          fake[probe] = { status, body };
          const expected = {
            fault: 'unavailable',
            hasResponse: true,
            isAccountError: [401, 402, 403].includes(status),
          };
          expect(await captureUpstreamError(upstream().probe())).to.include(expected);
        });
      }

      it('fails with a wrong key', async () => {
        const call = upstream({ key: 'wrong' }).probe();
        expect(await captureUpstreamError(call)).to.include({ fault: 'unavailable', hasResponse: true });
      });
    });
  });
}
