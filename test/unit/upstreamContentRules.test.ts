import { randomUUID } from 'node:crypto';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Operation } from '../../dev/sampleUpstream/protocols/protocol.ts';
import type { ModelKind } from '../../shared/spec/catalog.ts';
import { FakeUpstream } from '../fakes/fakeUpstream.ts';
import {
  type AdapterFactory,
  BLOCKED,
  buildRoute,
  buildSubmission,
  captureUpstreamError,
  getHandle,
  loadAdapter,
  NOT_ALLOWED,
} from '../harness/upstreamAdapter.ts';
import { CASES } from './upstreamAdapters.cases.ts';

const REJECTED = { state: 'failed', message: NOT_ALLOWED };

for (const { name, settings, path, outputOperation } of CASES) {
  describe(`the content rules of a provider at the ${name} adapter`, () => {
    const fake = new FakeUpstream('test');
    let createUpstream: AdapterFactory;
    let folder: string;
    before(async () => {
      createUpstream = await loadAdapter(name);
      folder = await mkdtemp(join(tmpdir(), 'genmeter-content-'));
      await fake.start();
    });
    after(async () => {
      await fake.stop();
      await rm(folder, { recursive: true });
    });
    beforeEach(() => fake.reset());
    afterEach(async () => {
      for (const file of await readdir(folder)) await rm(join(folder, file));
    });

    const upstream = (kind: ModelKind = 'video') =>
      createUpstream(buildRoute(name, kind, 'owner/name', { baseUrl: `${fake.url}${path}`, ...settings }));
    const newFile = async () => join(folder, randomUUID());

    /** Submits a generation that ends at once, and returns its result. */
    async function run(kind: ModelKind) {
      const duration = { fal: '5', replicate: 5, openai: undefined, http: 5 }[name];
      const input = kind === 'video' && duration !== undefined ? { duration } : {};
      const submission = await upstream(kind).submit(buildSubmission({ input, newFile }));
      return submission.state === 'accepted' ? upstream(kind).poll(submission.handle) : submission;
    }

    for (const [what, body, message] of [
      ['in a code', { detail: [{ type: 'content_policy_violation', msg: 'No.' }] }, NOT_ALLOWED],
      ['in a text', { code: 'permission-denied', error: 'Content violates usage guidelines.' }, NOT_ALLOWED],
      ['in a message', { error: { message: 'Rejected by our safety system.' } }, NOT_ALLOWED],
    ] as const) {
      it(`reject a submit with 403 and a reason ${what}`, async () => {
        fake.submit = { status: 403, body };
        const error = await captureUpstreamError(upstream().submit(buildSubmission()));
        expect(error).to.include({ fault: 'rejected', message });
      });
    }

    for (const status of [403, 405, 406, 451]) {
      for (const body of ['<html>Sorry, you have been blocked', { message: 'Forbidden' }, {}]) {
        it(`reject a submit that a firewall refuses with ${status} ${JSON.stringify(body)}`, async () => {
          fake.submit = { status, body };
          const error = await captureUpstreamError(upstream().submit(buildSubmission()));
          expect(error).to.include({ fault: 'rejected', message: BLOCKED });
        });
      }
    }

    it('end a run whose result names content', async () => {
      fake.outcome = 'wait';
      const handle = getHandle(await upstream().submit(buildSubmission()));
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

      it(`reject an output of ${kind} models that a safety filter replaced`, async () => {
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

      it(`accept an output of ${kind} models that a safety filter kept, also with a reason that is not text`, async () => {
        for (const finish_reason of ['stop', { toString: 'safety' }, [{ toString: null }], 5]) {
          answerWith({ has_nsfw_concepts: [false, true], finish_reason });
          expect((await run(kind)).state).to.equal('succeeded');
        }
      });
    }
  });
}
