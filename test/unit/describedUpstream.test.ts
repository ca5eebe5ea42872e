import { expect } from 'chai';
import type { KindProtocol, Protocol } from '../../shared/gateways/upstreams/described/protocol.ts';
import type { UpstreamHandle } from '../../shared/gateways/upstreams/upstream.ts';
import type { UpstreamSettings } from '../../shared/gateways/upstreams/upstreamSettings.ts';
import { ScriptedServer } from '../fakes/scriptedServer.ts';
import {
  BROKE_DOWN,
  buildInputImage,
  buildSubmission,
  buildUpstream,
  captureUpstreamError,
  getHandle,
  NO_OUTPUT,
  NOT_ALLOWED,
  NOT_MADE,
  useServers,
} from '../harness/upstreamAdapter.ts';

const VIDEO: KindProtocol = {
  submit: { path: '/jobs', id: '/id' },
  poll: {
    path: '/jobs/{id}',
    state: '/status',
    states: { waiting: 'queued', working: 'running', done: 'succeeded', broken: 'failed', stopped: 'canceled' },
    output: { at: ['/output'] },
  },
};
const PROTOCOL: Protocol = {
  auth: { type: 'bearer' },
  error_text: ['/error/message', '/errors/*'],
  probe: { path: '/health' },
  video: VIDEO,
};

const withSubmit = (submit: object) => ({ video: { ...VIDEO, submit: { ...VIDEO.submit, ...submit } } });
const withPoll = (poll: object) => ({ video: { ...VIDEO, poll: { ...VIDEO.poll, ...poll } } as KindProtocol });
const base64 = (name: string) => Buffer.from(`content of ${name}`).toString('base64');
const urls = (...names: string[]) => names.map((name) => ({ url: `https://cdn/${name}` }));

describe('an upstream whose protocol is described', () => {
  const server = new ScriptedServer();
  useServers(server);

  const upstream = (protocol: Partial<Protocol> = {}, settings: Partial<UpstreamSettings> = {}, modelId = 'large') =>
    buildUpstream('http', 'video', modelId, {
      baseUrl: `${server.url}/v1`,
      protocol: { ...PROTOCOL, ...protocol },
      ...settings,
    });
  const accepting = (body: object = { id: 'j1' }) => server.on('POST /v1/jobs', { status: 200, body });
  const handle: UpstreamHandle = { id: 'j1' };
  const poll = (protocol: Partial<Protocol> = {}) => upstream(protocol).poll(handle);
  const answering = (body: unknown, status = 200) => server.on('GET /v1/jobs/j1', { status, body });

  describe('submits', () => {
    it('the input with the fields of the description, in the body or in one field of it', async () => {
      accepting();
      const request = buildSubmission({ input: { prompt: 'p', seed: 5 } });
      await upstream(withSubmit({ body: { model: '$model', id: '{generation_id}', webhook: '$callback_url' } })).submit(
        request,
      );
      expect(server.lastJson).to.deep.equal({ model: 'large', id: request.generationId, prompt: 'p', seed: 5 });
      const wrapped = withSubmit({ input: 'input', body: { webhook: { url: '$callback_url' } } });
      await upstream(wrapped).submit({ ...request, callbackUrl: 'https://in/x' });
      expect(server.lastJson).to.deep.equal({ webhook: { url: 'https://in/x' }, input: { prompt: 'p', seed: 5 } });
    });

    it('to a path with the parts of the model id, a query and headers', async () => {
      server.on('PUT /v1/text2video/a%20b/kling-v3?lang=en&notify=https%3A%2F%2Fin%2Fx', {
        status: 202,
        body: { id: 'j1' },
      });
      const submit = {
        method: 'PUT',
        path: '/{endpoint}/a b/{model}',
        query: { lang: 'en', notify: '$callback_url' },
        headers: { 'idempotency-key': '{generation_id}', 'x-version': '2026-11-01' },
      };
      const request = { ...buildSubmission(), callbackUrl: 'https://in/x' };
      const described = upstream({ model: '{endpoint}/{model}', ...withSubmit(submit) }, {}, 'text2video/kling-v3');
      expect(await described.submit(request)).to.deep.equal({ state: 'accepted', handle: { id: 'j1' } });
      expect(server.last.headers).to.include({ 'x-version': '2026-11-01', 'idempotency-key': request.generationId });
    });

    const images = [buildInputImage('a', 'first_frame'), buildInputImage('b'), buildInputImage('c')];
    const input = {
      prompt: 'p',
      frame: 'https://images/a',
      parts: [{ text: 'x' }, 'https://images/b', 'https://images/c'],
    };

    it('images as addresses, data addresses, or objects by their roles', async () => {
      accepting();
      await upstream().submit({ ...buildSubmission({ input }), images });
      expect(server.lastJson).to.deep.equal(input);
      const asData = withSubmit({ images: 'data:{type};base64,{base64}' });
      await upstream(asData).submit({ ...buildSubmission({ input }), images });
      expect(server.lastJson).to.deep.include({ frame: `data:image/png;base64,${base64('a')}` });
      const byRole = { $by: 'role', first_frame: { url: '$address' }, reference: { mime: '$type', data: '$base64' } };
      await upstream(withSubmit({ images: byRole })).submit({ ...buildSubmission({ input }), images });
      expect(server.lastJson).to.deep.equal({
        prompt: 'p',
        frame: { url: 'https://images/a' },
        parts: [{ text: 'x' }, { mime: 'image/png', data: base64('b') }, { mime: 'image/png', data: base64('c') }],
      });
    });

    it('one image in two roles, each in its form', async () => {
      accepting();
      const both = [buildInputImage('a', 'first_frame'), buildInputImage('a', 'last_frame')];
      const content = { prompt: 'p', content: ['https://images/a', 'https://images/a'] };
      await upstream(withSubmit({ images: { role: '$role', url: '$address' } })).submit({
        ...buildSubmission({ input: content }),
        images: both,
      });
      const roles = ['first_frame', 'last_frame'].map((role) => ({ role, url: 'https://images/a' }));
      expect(server.lastJson).to.deep.equal({ prompt: 'p', content: roles });
    });

    it('a form with files', async () => {
      accepting();
      await upstream(withSubmit({ as: 'form', images: 'file', body: { model: '$model', n: 1 } })).submit({
        ...buildSubmission({ input: { prompt: 'p', frame: 'https://images/a', refs: ['https://images/b'] } }),
        images,
      });
      expect(await server.readLastForm()).to.deep.equal([
        ['model', 'large'],
        ['n', '1'],
        ['prompt', 'p'],
        ['frame', 'image.png image/png content of a'],
        ['refs', 'image.png image/png content of b'],
      ]);
    });

    it('to another path with images, and reports unavailable if one cannot be read', async () => {
      server.on('POST /v1/edit', { status: 200, body: { id: 'j1' } });
      accepting();
      const path = { $by: 'with_images', true: '/edit', false: '/jobs' };
      await upstream(withSubmit({ path })).submit({ ...buildSubmission(), images });
      await upstream(withSubmit({ path })).submit(buildSubmission());
      expect(server.calls).to.deep.equal(['POST /v1/edit', 'POST /v1/jobs']);
      const lost = { ...buildInputImage('a'), read: () => Promise.reject(new Error('it is not stored')) };
      const request = { ...buildSubmission({ input }), images: [lost] };
      const call = upstream(withSubmit({ images: '$base64' })).submit(request);
      expect(await captureUpstreamError(call)).to.include({ fault: 'unavailable' });
      expect(server.calls).to.have.length(2);
    });

    it('and stores the id, the price and the address to poll, if that is an address of the provider', async () => {
      const own = `${server.url}/v1/result?job=j1`;
      const protocol = withSubmit({ poll_url: '/urls/get', price: { at: '/cost', cents: 2 } });
      for (const [urls, expected] of [
        [{ get: own }, { id: 'j1', url: own, cents: 3 }],
        [{ get: '/v1/result?job=j1' }, { id: 'j1', url: own, cents: 3 }],
        [{ get: 'https://evil.example/' }, { id: 'j1', cents: 3 }],
        [{}, { id: 'j1', cents: 3 }],
      ] as const) {
        accepting({ id: 'j1', urls, cost: 1.5 });
        expect(getHandle(await upstream(protocol).submit(buildSubmission()))).to.deep.equal(expected);
      }
      const withoutPath = { video: { ...protocol.video, poll: { ...VIDEO.poll, path: undefined } } };
      accepting({ id: 'j1', urls: { get: 'https://evil.example/' } });
      const handle = getHandle(await upstream(withoutPath as Partial<Protocol>).submit(buildSubmission()));
      expect(handle).to.deep.equal({ id: 'j1' });
      const calls = server.calls.length;
      const lost = await captureUpstreamError(upstream(withoutPath as Partial<Protocol>).poll(handle));
      expect([lost.fault, server.calls.length]).to.deep.equal(['gone', calls]);
      accepting({ id: 'j1', urls: { get: `${own}${'1'.repeat(2_000)}` } });
      expect(getHandle(await upstream(protocol).submit(buildSubmission()))).to.deep.equal({ id: 'j1' });
    });

    for (const id of ['../jobs', 'a/../b', '.', 'a//b', '']) {
      it(`and reports a submit of unknown outcome for the id "${id}", which would lead to another path`, async () => {
        accepting({ id });
        expect(await captureUpstreamError(upstream().submit(buildSubmission()))).to.include({ fault: 'unknown' });
      });
    }

    const errors: Protocol['errors'] = [
      { at: '/code', is: ['content_*', '1026'], means: 'policy' },
      { at: '/code', is: ['too_long'], means: 'rejected' },
      { at: '/code', is: ['no_balance'], means: 'account' },
      { status: 200, at: '/code', is: ['1002'], means: 'busy' },
      { status: 503, means: 'broken' },
      { at: 'header:x-reason', is: ['blocked'], means: 'policy' },
      { at: '/reasons/*', means: 'policy' },
    ];
    for (const [status, body, headers, expected] of [
      [400, { code: 'content_filter' }, {}, { fault: 'rejected', message: NOT_ALLOWED }],
      [200, { code: 1026 }, {}, { fault: 'rejected', message: NOT_ALLOWED }],
      [500, { code: 'x' }, { 'x-reason': 'blocked' }, { fault: 'rejected', message: NOT_ALLOWED }],
      [500, { reasons: ['gore'] }, {}, { fault: 'rejected', message: NOT_ALLOWED }],
      [409, { code: 'too_long', error: { message: 'No.' } }, {}, { fault: 'rejected', message: 'No.' }],
      [409, { code: 'too_long', errors: ['A.', 'B.'] }, {}, { fault: 'rejected', message: 'A.; B.' }],
      [409, { code: 'too_long' }, {}, { fault: 'rejected', message: NOT_MADE }],
      [400, { code: 'no_balance' }, {}, { fault: 'unavailable', isAccountError: true }],
      [200, { code: 1002 }, {}, { fault: 'unavailable', retryAfterMs: 0 }],
      [429, { retry_after: 9 }, {}, { fault: 'unavailable', retryAfterMs: 9_000 }],
      [429, { retry_after: '7.5s' }, {}, { fault: 'unavailable', retryAfterMs: 7_500 }],
      [429, { retry_after: 9 }, { 'retry-after': '4' }, { fault: 'unavailable', retryAfterMs: 4_000 }],
      [503, {}, {}, { fault: 'unknown' }],
      [500, {}, {}, { fault: 'unavailable' }],
      [200, { code: 'other' }, {}, { fault: 'unknown' }],
    ] as const) {
      it(`and reports ${expected.fault} for ${status} ${JSON.stringify({ ...body, ...headers })}`, async () => {
        server.on('POST /v1/jobs', { status, body, headers });
        const call = upstream({ errors, retry_after: '/retry_after' }).submit(buildSubmission());
        expect(await captureUpstreamError(call)).to.include(expected);
      });
    }

    it('and counts a response with an id as accepted, whatever else it says', async () => {
      accepting({ id: 'j1', code: 'content_filter' });
      expect(await upstream({ errors }).submit(buildSubmission())).to.include({ state: 'accepted' });
    });
  });

  describe('polls', () => {
    for (const [status, expected] of [
      ['waiting', { state: 'running', isWaiting: true }],
      ['working', { state: 'running' }],
      ['a word of tomorrow', { state: 'running' }],
      ['stopped', { state: 'failed', message: 'The generation was cancelled.' }],
      ['broken', { state: 'failed', message: 'Out of memory.' }],
    ] as const) {
      it(`and reports ${expected.state} for the state "${status}"`, async () => {
        answering({ status, error: { message: status === 'broken' ? 'Out of memory.' : null } });
        expect(await poll()).to.deep.equal(expected);
      });
    }

    it('the address of the handle, with the key and what the description adds', async () => {
      server.on('POST /v1/result?job=j1', { status: 200, body: { status: 'working', percent: 40 } });
      const request = { method: 'POST', headers: { 'x-version': '1' }, body: { job: '$id' }, progress: '/percent' };
      const stored = { id: 'j1', url: `${server.url}/v1/result?job=j1` };
      expect(await upstream(withPoll(request)).poll(stored)).to.deep.equal({ state: 'running', progress: '40' });
      expect(server.last.headers).to.include({ authorization: 'Bearer test', 'x-version': '1' });
      expect(server.lastJson).to.deep.equal({ job: 'j1' });
      const foreign = upstream().poll({ id: 'j1', url: 'https://evil.example/' });
      expect(await captureUpstreamError(foreign)).to.include({ fault: 'gone' });
      expect(server.requests).to.have.length(1);
    });

    it('and reads states from the status of responses, and from responses without a state', async () => {
      const statuses = withPoll({ statuses: { '202': 'queued', '410': 'gone' }, missing: 'running' });
      answering({}, 202);
      expect(await poll(statuses)).to.deep.equal({ state: 'running', isWaiting: true });
      answering({});
      expect(await poll(statuses)).to.deep.equal({ state: 'running' });
      expect(await captureUpstreamError(poll())).to.include({ fault: 'unavailable' });
      answering({}, 410);
      expect(await captureUpstreamError(poll(statuses))).to.include({ fault: 'gone' });
    });

    const errors: Protocol['errors'] = [
      { at: '/reasons', means: 'policy' },
      { at: '/code', is: ['invalid'], means: 'rejected' },
      { at: '/code', is: ['INTERNAL.*'], means: 'broken' },
      { at: '/code', is: ['unknown job'], means: 'gone' },
      { at: '/code', is: ['limit'], means: 'busy' },
    ];
    for (const [body, expected] of [
      [{ reasons: ['gore'] }, { state: 'failed', message: NOT_ALLOWED }],
      [
        { code: 'invalid', error: { message: 'No.' } },
        { state: 'failed', message: 'No.' },
      ],
      [{ code: 'INTERNAL.BAD_OUTPUT' }, { state: 'failed', message: BROKE_DOWN }],
      [{ code: 'unknown job' }, 'gone'],
      [{ code: 'limit' }, 'unavailable'],
      [{ reasons: [] }, { state: 'running' }],
      [{ reasons: null }, { state: 'running' }],
    ] as const) {
      it(`and applies the rules to ${JSON.stringify(body)}`, async () => {
        answering({ status: 'working', ...body });
        const call = poll({ errors });
        if (typeof expected === 'string') expect(await captureUpstreamError(call)).to.include({ fault: expected });
        else expect(await call).to.deep.equal(expected);
      });
    }

    const success = { state: 'succeeded', isWatermarked: false };
    for (const [what, output, body, url] of [
      ['an address', { at: ['/output'] }, { output: 'https://cdn/x.mp4' }, 'https://cdn/x.mp4'],
      ['a relative address', { at: ['/output'] }, { output: '/files/x.mp4' }, '/files/x.mp4'],
      ['what has an address', { at: ['/o/*/url'] }, { o: [{}, { url: 'https://a' }, { url: 5 }] }, 'https://a/'],
      ['an entry of an object', { at: ['/o/*/*'] }, { o: { 9: ['https://a/x'] } }, 'https://a/x'],
      ['the second pointer', { at: ['/a', '/b'] }, { a: null, b: 'https://b/x' }, 'https://b/x'],
      ['base64', { at: ['/b'], as: 'base64' }, { b: 'QUJD' }, 'data:application/octet-stream;base64,QUJD'],
      [
        'a data address',
        { at: ['/b'], as: 'base64' },
        { b: 'data:image/png;base64,QUJD' },
        'data:application/octet-stream;base64,QUJD',
      ],
      [
        'an address from fields',
        { at: ['/o/*/images/*'], address: '/view?name={filename}&sub={sub}' },
        { o: { n: { images: [{ filename: 'a b&c.png', sub: '' }] } } },
        '/v1/view?name=a%20b%26c.png&sub=',
      ],
    ] as const) {
      it(`and finds ${what}`, async () => {
        answering({ status: 'done', ...body });
        const expected = url.startsWith('/') ? `${server.url}${url}` : url;
        expect(await poll(withPoll({ output }))).to.deep.equal({ ...success, outputs: [{ url: expected }] });
      });
    }

    it('and finds several outputs, without those that a safety filter replaced', async () => {
      const protocol = withPoll({ output: { at: ['/images/*/url'] } });
      const images = ['a', 'b', 'c'].map((name) => ({ url: `https://cdn/${name}` }));
      answering({ status: 'done', images });
      expect(await poll(protocol)).to.deep.equal({ ...success, outputs: urls('a', 'b', 'c') });
      answering({ status: 'done', images, has_nsfw_concepts: [false, true, false] });
      expect(await poll(protocol)).to.deep.equal({ ...success, outputs: urls('a', 'c'), filtered: 1 });
      answering({ status: 'done', images, has_nsfw_concepts: [true, true, true] });
      expect(await poll(protocol)).to.deep.equal({ state: 'failed', message: NOT_ALLOWED });
    });

    for (const [what, output, body] of [
      ['nothing there', { at: ['/output'] }, {}],
      ['another type', { at: ['/output'] }, { output: { url: 'x' } }],
      ['an empty list', { at: ['/output/*'] }, { output: [] }],
      ['a missing field of an address', { at: ['/o'], address: '/view/{name}' }, { o: {} }],
      ['dots in a field of an address', { at: ['/o'], address: '/view/{name}' }, { o: { name: '../jobs' } }],
    ] as const) {
      it(`and reports that there is no output for ${what}`, async () => {
        answering({ status: 'done', ...body });
        expect(await poll(withPoll({ output }))).to.deep.equal(NO_OUTPUT);
      });
    }

    it('and takes the response itself as the file, without reading it', async () => {
      const protocol = {
        files: { auth: true, headers: { accept: 'video/*' } },
        ...withPoll({ statuses: { '202': 'running', '200': 'succeeded' }, state: undefined, output: {} }),
      };
      server.on('GET /v1/jobs/j1', { status: 200, headers: { 'content-type': 'video/mp4' }, body: 'a long video' });
      const url = `${server.url}/v1/jobs/j1`;
      expect(await poll(protocol)).to.deep.equal({ ...success, outputs: [{ url }] });
      const described = upstream(protocol);
      expect(described.getFileHeaders(url)).to.deep.equal({ authorization: 'Bearer test', accept: 'video/*' });
      expect(described.getFileHeaders('https://cdn.example/x')).to.equal(undefined);
      expect(upstream().getFileHeaders(url)).to.equal(undefined);
    });

    it('and asks for the result with values of the response', async () => {
      answering({ status: 'done', file: { id: 'f/1' } });
      const result = { path: '/files/{file}', query: { job: '{id}' }, values: { file: '/file/id' } };
      const protocol = withPoll({ result, output: { at: ['/download_url'] } });
      const call = 'GET /v1/files/f/1?job=j1';
      server.on(call, { status: 200, body: { download_url: 'https://cdn/x' } });
      expect(await poll(protocol)).to.deep.equal({ ...success, outputs: [{ url: 'https://cdn/x' }] });
      for (const answer of ['hang', 'drop', 'garbage', 404, 500] as const) {
        server.on(call, answer);
        expect(await captureUpstreamError(poll(protocol)), String(answer)).to.include({ fault: 'unavailable' });
      }
      server.on(call, { status: 200, body: {} });
      expect(await poll(protocol)).to.deep.equal(NO_OUTPUT);
      for (const id of [undefined, '../x']) {
        answering({ status: 'done', file: { id } });
        expect(await poll(protocol)).to.deep.equal(NO_OUTPUT);
      }
    });

    it('and takes the address of the result as the file', async () => {
      answering({ status: 'done' });
      const protocol = withPoll({ result: { path: '/jobs/{id}/content' }, output: {} });
      expect(await poll({ files: { auth: true }, ...protocol })).to.deep.equal({
        ...success,
        outputs: [{ url: `${server.url}/v1/jobs/j1/content` }],
      });
      expect(server.requests).to.have.length(1);
    });

    it('and passes on the price that a response reports, and how long the address is valid', async () => {
      const protocol = withPoll({
        output: { at: ['/output'], expires_seconds: 600 },
        price: { at: '/cost', cents: 100 },
      });
      for (const [cost, stored, expected] of [
        [0.123456, handle, { costCents: 12.3456 }],
        ['0.05', { ...handle, cents: 3 }, { costCents: 5 }],
        [undefined, { ...handle, cents: 3 }, { costCents: 3 }],
        [-1, handle, {}],
        ['free', handle, {}],
      ] as const) {
        answering({ status: 'done', output: 'https://cdn/x', cost });
        const outputs = [{ url: 'https://cdn/x' }];
        expect(await upstream(protocol).poll(stored)).to.deep.equal({
          ...success,
          outputs,
          expiresInMs: 600_000,
          ...expected,
        });
      }
    });
  });

  describe('cancels', () => {
    const cancel = { path: '/jobs/{id}', confirmed: [{ status: 200, at: '/status', is: ['canceled'] }] };

    it('with a confirmation, or without one', async () => {
      const protocol = { video: { ...VIDEO, cancel } };
      server.on('DELETE /v1/jobs/j1', { status: 200, body: { status: 'canceled' } });
      expect(await upstream(protocol).cancel(handle)).to.equal('did_not_run');
      server.on('DELETE /v1/jobs/j1', { status: 200, body: {} });
      expect(await upstream(protocol).cancel(handle)).to.equal('unknown');
      const unconfirmed = { video: { ...VIDEO, cancel: { method: 'POST', path: '/stop', body: { delete: ['$id'] } } } };
      server.on('POST /v1/stop', { status: 200, body: { status: 'canceled' } });
      expect(await upstream(unconfirmed as Partial<Protocol>).cancel(handle)).to.equal('unknown');
      expect(server.lastJson).to.deep.equal({ delete: ['j1'] });
    });

    it('at a path that depends on images, as do polls', async () => {
      const path = { $by: 'with_images', true: '/image-jobs/{id}', false: '/jobs/{id}' };
      const described = upstream({ video: { ...VIDEO, poll: { ...VIDEO.poll!, path }, cancel: { path } } });
      server.on('POST /v1/jobs', { status: 200, body: { id: 'j1' } });
      const images = [buildInputImage('a')];
      const withImages = getHandle(await described.submit({ ...buildSubmission(), images }));
      const without = getHandle(await described.submit(buildSubmission()));
      server.reset();
      for (const place of ['jobs', 'image-jobs'])
        for (const method of ['GET', 'DELETE'])
          server.on(`${method} /v1/${place}/j1`, { status: 200, body: { status: 'waiting' } });
      await described.poll(withImages);
      await described.cancel(withImages);
      await described.poll(without);
      await described.cancel(without);
      const expected = ['GET /v1/image-jobs/j1', 'DELETE /v1/image-jobs/j1', 'GET /v1/jobs/j1', 'DELETE /v1/jobs/j1'];
      expect(server.calls).to.deep.equal(expected);
    });

    it('nothing if the description has no cancellation', async () => {
      expect(await upstream().cancel(handle)).to.equal('unknown');
      expect(server.calls).to.deep.equal([]);
    });
  });

  it('is probed by a request that may have another status', async () => {
    server.on('GET /v1/health', { status: 200, body: { ok: true } });
    await upstream().probe();
    server.on('GET /v1/health', { status: 404, body: { error: 'no such job' } });
    await upstream({ probe: { path: '/health', statuses: [404] } }).probe();
    expect(await captureUpstreamError(upstream().probe())).to.include({ fault: 'unavailable' });
    server.on('GET /v1/health', { status: 401, body: {} });
    expect(await captureUpstreamError(upstream().probe())).to.include({ isAccountError: true });
    server.on('GET /v1/health', { status: 200, body: { code: 1004 } });
    const errors: Protocol['errors'] = [{ at: '/code', is: ['1004'], means: 'account' }];
    expect(await captureUpstreamError(upstream({ errors }).probe())).to.include({ isAccountError: true });
    server.on('GET /v1/health', { status: 400, body: { reason: 'KEY_INVALID' } });
    const keyErrors = [{ at: '/reason', is: ['KEY_INVALID'], means: 'account' as const }];
    expect(await captureUpstreamError(upstream({ errors: keyErrors }).probe())).to.include({ isAccountError: true });
    expect(await captureUpstreamError(upstream().probe())).to.include({ isAccountError: false });
  });
});
