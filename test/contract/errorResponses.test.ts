import { randomUUID } from 'node:crypto';
import { deflateSync, gzipSync } from 'node:zlib';
import { expect } from 'chai';
import { type ApiResponse, TestCustomer, IMAGE, type RequestOptions, VIDEO } from '../harness/apiClient.ts';
import { type TestService, startTestService } from '../harness/testService.ts';
import { expectError } from '../harness/errorEnvelope.ts';
import { setAllModelsOnline } from '../harness/seeds.ts';
import { sendRawRequest } from '../harness/rawRequest.ts';

const CREATE = '/api/generations/create/';

/** Every endpoint that requires a credential, with a valid body. */
const PROTECTED: [string, string, unknown?][] = [
  ['POST', CREATE, { ...IMAGE, prompt: 'a' }],
  ['GET', '/api/generations/'],
  ['GET', `/api/generations/${randomUUID()}/`],
  ['DELETE', `/api/generations/${randomUUID()}/`],
  ['POST', '/api/keys/create/', { name: 'a' }],
  ['GET', '/api/keys/'],
  ['POST', `/api/keys/${randomUUID()}/revoke/`],
  ['GET', '/api/usage/summary/'],
  ['GET', '/api/ledger/'],
  ['GET', '/api/billing/status/'],
  ['POST', '/api/billing/checkout/', { plan: 'lite' }],
  ['POST', '/api/billing/portal/'],
  ['GET', '/api/billing/topup/settings/'],
  ['PATCH', '/api/billing/topup/settings/', { auto_topup_threshold_credits: 1 }],
  ['POST', '/api/billing/topup/', { amount_cents: 5000 }],
];

const WITH_BODY: [string, string][] = [
  ['POST', CREATE],
  ['POST', '/api/keys/create/'],
  ['POST', '/api/billing/checkout/'],
  ['POST', '/api/billing/topup/'],
  ['PATCH', '/api/billing/topup/settings/'],
  ['POST', '/authentication/onboarding/advance/'],
  ['PATCH', '/authentication/me/'],
];

const LISTS = ['/api/generations/', '/api/keys/', '/api/ledger/', '/api/models/'];

const image = (params: unknown, rest: object = {}) => ({ model: 'imgmodel-2', prompt: 'a', params, ...rest });

const video = (params: object) => ({ model: 'vidmodel-video', prompt: 'a', params });

describe('errors', () => {
  let service: TestService;
  /** Customers that send all requests below, none of which may change them. */
  let customer: TestCustomer;
  before(async () => {
    service = await startTestService({ workers: 0 });
    await setAllModelsOnline(service);
    customer = await service.createCustomer('pro');
  });
  after(() => service.stop());
  afterEach('nothing was charged', async () => {
    expect(await customer.ledger()).to.deep.equal([['grant', 1100]]);
    expect((await customer.request('GET', '/api/keys/')).body.pagination.total_items).to.equal(1);
  });

  /** Sends a request with a credential that the endpoint accepts. */
  const ask = (method: string, path: string, options: RequestOptions = {}) =>
    path.startsWith('/authentication/')
      ? customer.requestWithSession(method, path, options)
      : customer.request(method, path, options);
  const create = (body: unknown) => ask('POST', CREATE, { body });
  const createRaw = (rawBody: string | Uint8Array, headers: Record<string, string> = {}) =>
    ask('POST', CREATE, { rawBody, headers });

  describe('not_found', () => {
    const nowhere = [
      '/api',
      '/api/',
      '/api/generations',
      '/nothing',
      '/api/models/x/',
      '/index.html',
      '/.env',
      '/api/keys/create/x/',
    ];
    for (const path of nowhere.filter((candidate) => candidate !== '/api/generations')) {
      it(`is the response to ${path}, in the error envelope`, async () => {
        for (const method of ['GET', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PROPFIND']) {
          expectError(await customer.request(method, path), 'not_found');
        }
        expect((await sendRawRequest(service.baseUrl, 'HEAD', path)).status).to.equal(404);
      });
    }

    const crooked = [
      '/api/generations/%zz/',
      '/api/generations/%00/',
      '/%',
      '/api/models/%E0%A4%A/',
      '//api/models//',
      '/api/../etc/passwd',
      '/\u00e9'.replace('\u00e9', '%C3'),
      '/x?%',
      `/${'x'.repeat(8_000)}`,
    ];
    for (const path of crooked) {
      it(`is the response to ${path.slice(0, 40)}`, async () => {
        const headers = { authorization: `Bearer ${customer.key}` };
        expectError(await sendRawRequest(service.baseUrl, 'GET', path, { headers }), 'not_found');
      });
    }

    const wrongMethods: [string, string, string[]][] = [
      ['PUT', '/api/generations/', ['GET']],
      ['GET', '/api/generations/create/', ['POST']],
      ['DELETE', '/api/generations/create', ['POST']],
      ['PATCH', `/api/generations/${randomUUID()}/`, ['GET', 'DELETE']],
      ['DELETE', '/api/keys/', ['GET']],
      ['POST', '/api/usage/summary/', ['GET']],
      ['GET', '/api/billing/checkout/', ['POST']],
      ['PUT', '/api/billing/topup/settings/', ['GET', 'PATCH']],
      ['GET', '/api/billing/topup/', ['POST']],
      ['GET', '/api/billing/webhooks/processor/', ['POST']],
      ['POST', '/api/health/', ['GET']],
      ['PUT', '/authentication/me/', ['GET', 'PATCH']],
      ['GET', '/authentication/logout', ['POST']],
    ];
    for (const [method, path, allowed] of wrongMethods) {
      it(`has an Allow header if only the method is wrong: ${method} ${path.replace(/[0-9a-f-]{36}/, '{uuid}')}`, async () => {
        const answer = await customer.request(method, path);
        expectError(answer, 'not_found');
        expect(answer.headers.get('allow')?.split(', ')).to.include.members(allowed).and.not.include(method);
      });
    }

    for (const uuid of [
      '5',
      'null',
      'undefined',
      'x'.repeat(36),
      randomUUID().slice(1),
      `${randomUUID()}0`,
      `{${randomUUID()}}`,
      '%27%20OR%201=1',
      `${randomUUID()}%00`,
      '00000000-0000-0000-0000-00000000000g',
      randomUUID().replaceAll('-', ''),
    ]) {
      it(`is the response for ${uuid.slice(0, 40).replace(/[0-9a-f]{8}-?([0-9a-f]{4}-?){3}/, '…')}, an invalid uuid`, async () => {
        expectError(await customer.readGeneration(uuid), 'not_found');
        expectError(await customer.request('DELETE', `/api/generations/${uuid}/`), 'not_found');
        expectError(await customer.request('POST', `/api/keys/${uuid}/revoke/`), 'not_found');
      });
    }
  });

  describe('invalid_api_key', () => {
    it('is the response of every protected endpoint to a request without a credential', async () => {
      for (const [method, path, body] of PROTECTED) {
        const answer = await service.request(method, path, { body });
        expectError(answer, 'invalid_api_key');
        expect(answer.headers.get('www-authenticate')).to.equal('Bearer');
      }
    });

    const someKey = `svc_${'ab'.repeat(20)}`;
    const authorizations = [
      'Bearer',
      'Bearer ',
      `Bearer ${someKey}`,
      `Bearer ${someKey} ${someKey}`,
      `Bearer ${someKey.toUpperCase()}`,
      `Bearer ${someKey}0`,
      `Bearer ${someKey.slice(0, -1)}`,
      `Bearer ${someKey.slice(4)}`,
      `Bearer svc_${'g'.repeat(40)}`,
      `Bearer "${someKey}"`,
      `Bearer: ${someKey}`,
      `Token ${someKey}`,
      `Basic ${Buffer.from(`user:${someKey}`).toString('base64')}`,
      someKey,
      'null',
      'Bearer null',
      'Bearer svc_\u00e9',
      `Bearer ${'x'.repeat(5_000)}`,
    ];
    for (const authorization of authorizations) {
      it(`is the response to Authorization: ${authorization.slice(0, 60)}`, async () => {
        for (const [method, path, body] of PROTECTED) {
          expectError(await service.request(method, path, { body, headers: { authorization } }), 'invalid_api_key');
        }
      });
    }

    for (const key of [someKey, 'x', `Bearer ${someKey}`, someKey.toUpperCase(), `${someKey}, ${someKey}`, 'svc_']) {
      it(`is the response to X-API-Key: ${key}`, async () => {
        expectError(await service.request('GET', '/api/keys/', { headers: { 'x-api-key': key } }), 'invalid_api_key');
      });
    }

    it('is the response to two headers with different keys, even if both are valid', async () => {
      const { body } = await customer.requestWithSession('POST', '/api/keys/create/', { body: { name: 'second' } });
      expectError(
        await customer.request('GET', '/api/keys/', { headers: { 'x-api-key': body.key } }),
        'invalid_api_key',
      );
      expectError(
        await customer.request('GET', '/api/keys/', { headers: { authorization: 'Bearer x', 'x-api-key': body.key } }),
        'invalid_api_key',
      );
      expect((await customer.request('GET', '/api/keys/', { headers: { 'x-api-key': customer.key } })).status).to.equal(
        200,
      );
      await service.sql(`UPDATE accounts SET key_count = 1, active_key_count = 1 WHERE email = $1`, [customer.email]);
      await service.sql(`DELETE FROM api_keys WHERE uuid = $1`, [body.uuid]);
    });

    it('does not distinguish an unknown key from a revoked one', async () => {
      const other = await service.createCustomer(null);
      const [{ uuid }] = (await other.requestWithSession('GET', '/api/keys/')).body.data;
      await other.requestWithSession('POST', `/api/keys/${uuid}/revoke/`);
      const unknown = await service.request('GET', '/api/keys/', { headers: { 'x-api-key': someKey } });
      expect((await other.request('GET', '/api/keys/')).body).to.deep.equal(unknown.body);
    });

    it('takes precedence over all other errors of the request', async () => {
      const stranger = new TestCustomer(service.baseUrl, '', '', someKey);
      expectError(await stranger.request('POST', CREATE, { rawBody: '{' }), 'invalid_api_key');
      expectError(await stranger.request('POST', CREATE, { rawBody: 'x'.repeat(100_000) }), 'invalid_api_key');
      expectError(await stranger.request('GET', '/api/generations/?page=0'), 'invalid_api_key');
      expectError(await stranger.request('GET', '/api/generations/none/'), 'invalid_api_key');
    });
  });

  describe('invalid bodies', () => {
    const malformed: Record<string, string | Uint8Array> = {
      'half an object': '{"model": "imgmodel-2"',
      'single quotes': "{'model': 'imgmodel-2'}",
      'a trailing comma': '{"model": "imgmodel-2",}',
      'a comment': '{} // nothing',
      'two objects': '{}{}',
      'a number': '5',
      'a string': '"model"',
      null: 'null',
      true: 'true',
      'an array': '[]',
      'an array of objects': '[{}]',
      NaN: '{"model": NaN}',
      'white space': '   ',
      'a form': 'model=imgmodel-2&prompt=a',
      'a NUL byte': '\u0000',
      'bytes that are no UTF-8': new Uint8Array([0xff, 0xfe, 0x7b, 0x7d]),
      'UTF-16': Buffer.from('{"model":"imgmodel-2"}', 'utf16le'),
      'deep nesting': '['.repeat(30_000),
      'deep nesting, closed': '['.repeat(30_000) + ']'.repeat(30_000),
    };
    for (const [what, rawBody] of Object.entries(malformed)) {
      it(`${what}: returns 400 validation_error on every endpoint that takes a body`, async () => {
        for (const [method, path] of WITH_BODY) {
          expectError(await ask(method, path, { rawBody }), 'validation_error');
        }
      });
    }

    it('an absent body counts as empty, and the error names the missing field', async () => {
      for (const rawBody of ['', '{}']) {
        expectError(await createRaw(rawBody), 'validation_error', 'model');
        expectError(await ask('POST', '/api/keys/create/', { rawBody }), 'validation_error', 'name');
        expectError(await ask('POST', '/api/billing/checkout/', { rawBody }), 'validation_error', 'plan');
        expectError(await ask('POST', '/api/billing/topup/', { rawBody }), 'validation_error', 'amount_cents');
      }
      expectError(await ask('POST', CREATE), 'validation_error', 'model');
    });

    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
      'application/xml',
      'application/jsonx',
      'nonsense',
      '/',
      'application/json5',
    ]) {
      it(`a Content-Type of ${type} returns 400 validation_error`, async () => {
        const rawBody = JSON.stringify({ ...IMAGE, prompt: 'a' });
        expectError(await createRaw(rawBody, { 'content-type': type }), 'validation_error', 'Content-Type');
        expectError(
          await ask('POST', '/api/billing/checkout/', { rawBody, headers: { 'content-type': type } }),
          'validation_error',
          'Content-Type',
        );
      });
    }

    it('a chunked body with a wrong Content-Type returns 400 validation_error that names the header', async () => {
      const answer = await sendRawRequest(service.baseUrl, 'POST', CREATE, {
        headers: {
          authorization: `Bearer ${customer.key}`,
          'content-type': 'text/plain',
          'transfer-encoding': 'chunked',
        },
        body: JSON.stringify({ ...IMAGE, prompt: 'a' }),
      });
      expectError(answer, 'validation_error', 'Content-Type');
    });

    const body = JSON.stringify({ ...IMAGE, prompt: 'a', extra: 1 });
    const encodings: [string, string | Uint8Array][] = [
      ['zstd', body],
      ['nonsense', body],
      ['gzip', body],
      ['gzip', gzipSync(body).subarray(0, 20)],
      ['deflate', body],
      ['deflate', deflateSync(body).subarray(0, 10)],
      ['br', body],
      ['gzip, gzip', gzipSync(gzipSync(body))],
    ];
    for (const [encoding, rawBody] of encodings) {
      it(`${rawBody.length} bytes with a Content-Encoding of ${encoding} return 400 validation_error`, async () => {
        expectError(await createRaw(rawBody, { 'content-encoding': encoding }), 'validation_error');
      });
    }

    it('supported content encodings are accepted', async () => {
      expectError(await createRaw(gzipSync(body), { 'content-encoding': 'gzip' }), 'validation_error', 'extra');
      expectError(
        await createRaw(body, { 'content-type': 'application/json; charset=utf-8' }),
        'validation_error',
        'extra',
      );
    });

    it('a body of 12 MB returns 413 validation_error', async () => {
      const megabytes = `{"prompt": "${'x'.repeat(12 * 1024 * 1024)}"}`;
      for (const [method, path] of WITH_BODY) {
        expectError(await ask(method, path, { rawBody: megabytes }), 'validation_error', 'bytes', 413);
      }
    });

    it('a small body that unpacks to 12 MB returns 413 validation_error', async () => {
      const bomb = gzipSync(`{"prompt": "${'x'.repeat(12 * 1024 * 1024)}"}`);
      expect(bomb.length).to.be.below(64 * 1024);
      expectError(await createRaw(bomb, { 'content-encoding': 'gzip' }), 'validation_error', 'bytes', 413);
    });

    it('an oversized body without a declared length returns 413 validation_error', async () => {
      const answer = await sendRawRequest(service.baseUrl, 'POST', CREATE, {
        headers: {
          authorization: `Bearer ${customer.key}`,
          'content-type': 'application/json',
          'transfer-encoding': 'chunked',
        },
        body: `{"prompt": "${'x'.repeat(80_000)}"}`,
      });
      expectError(answer, 'validation_error', 'bytes', 413);
    });
  });

  describe('field values', () => {
    /** Values that every field rejects: wrong types, and text that cannot be stored. */
    const NEVER: [string, string][] = [
      ['null', 'null'],
      ['an array', '["x"]'],
      ['an object', '{"x": 1}'],
      ['true', 'true'],
      ['5.5', '5.5'],
      ['-0', '-0'],
      ['1e309', '1e309'],
      ['a NUL', '"a\\u0000b"'],
      ['half a surrogate pair', '"\\ud800"'],
      ['the other half', '"\\udc00"'],
      ['the halves in the wrong order', '"\\udc00\\ud800"'],
    ];
    /** Every field, with a body template in which `?` stands for its value. */
    const FIELDS: [string, string, string, string][] = [
      ['POST', CREATE, 'model', '{"model": ?, "prompt": "a", "params": {"resolution": "1K"}}'],
      ['POST', CREATE, 'prompt', '{"model": "imgmodel-2", "prompt": ?, "params": {"resolution": "1K"}}'],
      ['POST', CREATE, 'params.resolution', '{"model": "imgmodel-2", "prompt": "a", "params": {"resolution": ?}}'],
      [
        'POST',
        CREATE,
        'params.aspect_ratio',
        '{"model": "imgmodel-2", "prompt": "a", "params": {"resolution": "1K", "aspect_ratio": ?}}',
      ],
      [
        'POST',
        CREATE,
        'params.duration',
        '{"model": "vidmodel-video", "prompt": "a", "params": {"duration": ?, "resolution": "720p"}}',
      ],
      [
        'POST',
        CREATE,
        'params.resolution',
        '{"model": "vidmodel-video", "prompt": "a", "params": {"duration": 5, "resolution": ?}}',
      ],
      [
        'POST',
        CREATE,
        'params.aspect_ratio',
        '{"model": "vidmodel-video", "prompt": "a", "params": {"duration": 5, "resolution": "720p", "aspect_ratio": ?}}',
      ],
      ['POST', '/api/keys/create/', 'name', '{"name": ?}'],
      ['POST', '/api/billing/checkout/', 'plan', '{"plan": ?}'],
      ['POST', '/api/billing/topup/', 'amount_cents', '{"amount_cents": ?}'],
      [
        'PATCH',
        '/api/billing/topup/settings/',
        'auto_topup_amount_cents',
        '{"auto_topup_threshold_credits": 5, "auto_topup_amount_cents": ?}',
      ],
      ['POST', '/authentication/onboarding/advance/', 'step_completed', '{"step_completed": ?}'],
      [
        'POST',
        '/authentication/onboarding/advance/',
        'data.first_name',
        '{"step_completed": "profile", "data": {"first_name": ?}}',
      ],
      ['PATCH', '/authentication/me/', 'first_name', '{"first_name": ?}'],
      ['PATCH', '/authentication/me/', 'use_case', '{"use_case": ?}'],
      ['PATCH', '/authentication/me/', 'language', '{"language": ?}'],
    ];
    for (const [method, path, field, template] of FIELDS) {
      it(`${method} ${path} rejects ${field} by name if its type is wrong or its text cannot be stored (${template.slice(0, 24)}…)`, async () => {
        for (const [what, value] of NEVER) {
          const answer = await ask(method, path, { rawBody: template.replace('?', () => value) });
          expectError(answer, 'validation_error', field);
          expect(answer.body.detail, what).to.not.match(/[\ud800-\udfff\u0000]/);
        }
        const cut = template.replace('?', '"\uffff"');
        const bytes = Buffer.from(cut);
        const at = bytes.indexOf(Buffer.from('\uffff'));
        bytes.set([0x61, 0xff, 0x61], at);
        expectError(await ask(method, path, { rawBody: bytes }), 'validation_error', field);
      });
    }

    const WRONG: [string, unknown][] = [
      ['model', { prompt: 'a', params: {} }],
      ['model', { ...image({ resolution: '1K' }), model: 'Image model' }],
      ['model', { ...image({ resolution: '1K' }), model: 'imgmodel-2 ' }],
      ['model', { ...image({ resolution: '1K' }), model: 'constructor' }],
      ['prompt', { model: 'imgmodel-2', params: { resolution: '1K' } }],
      ['params', { model: 'imgmodel-2', prompt: 'a' }],
      ['params', image([])],
      ['params', image('{"resolution": "1K"}')],
      ['params', image(null)],
      ['params.resolution', image({})],
      ['params.resolution', image({ resolution: '1k' })],
      ['params.resolution', image({ resolution: '720p' })],
      ['params.aspect_ratio', image({ resolution: '1K', aspect_ratio: '4:3' })],
      ['params.duration', image({ resolution: '1K', duration: 5 })],
      ['params.audio', image({ resolution: '1K', audio: false })],
      ['params.constructor', image({ resolution: '1K', constructor: 1 })],
      ['params.toString', image({ resolution: '1K', toString: 1 })],
      ['seed', image({ resolution: '1K' }, { seed: 5 })],
      ['constructor', image({ resolution: '1K' }, { constructor: { prototype: {} } })],
      ['params.duration', video({ resolution: '720p' })],
      ['params.duration', video({ duration: '5', resolution: '720p' })],
      ['params.duration', video({ duration: 0, resolution: '720p' })],
      ['params.duration', video({ duration: 7, resolution: '720p' })],
      ['params.duration', video({ duration: -5, resolution: '720p' })],
      ['params.duration', video({ duration: 1e21, resolution: '720p' })],
      ['params.resolution', video({ duration: 5 })],
      ['params.resolution', video({ duration: 5, resolution: '4K' })],
      ['params.resolution', video({ duration: 5, resolution: 720 })],
      ['params.audio', video({ duration: 5, resolution: '720p', audio: 'true' })],
      ['params.audio', video({ duration: 5, resolution: '720p', audio: 1 })],
      ['params.audio', video({ duration: 5, resolution: '720p', audio: null })],
      ['params.aspect_ratio', video({ duration: 5, resolution: '720p', aspect_ratio: '1:1' })],
      ['params.aspect_ratio', video({ duration: 5, resolution: '720p', aspect_ratio: null })],
    ];
    for (const [field, order] of WRONG) {
      it(`create rejects ${field} by name in ${JSON.stringify(order).slice(0, 110)}`, async () => {
        expectError(await create(order), 'validation_error', field);
      });
    }

    it('the detail lists the accepted durations', async () => {
      const { body } = await create(video({ duration: 7, resolution: '720p' }));
      expect(body.detail).to.equal('params.duration must be one of: 5, 10.');
    });

    it('__proto__ is rejected at every position, and changes no prototype', async () => {
      const bodies = [
        '{"__proto__": {"resolution": "1K"}, "model": "imgmodel-2", "prompt": "a", "params": {"resolution": "1K"}}',
        '{"model": "imgmodel-2", "prompt": "a", "params": {"__proto__": {"resolution": "1K"}}}',
        '{"model": "imgmodel-2", "prompt": "a", "params": {"resolution": "1K", "__proto__": null}}',
        '{"model": "imgmodel-2", "prompt": "a", "params": {"resolution": "1K", "\\u005f_proto__": 5}}',
      ];
      for (const rawBody of bodies) expectError(await createRaw(rawBody), 'validation_error', '__proto__');
      expectError(
        await ask('POST', '/api/keys/create/', { rawBody: '{"name": "a", "__proto__": {"x": 1}}' }),
        'validation_error',
        '__proto__',
      );
      expectError(
        await ask('PATCH', '/authentication/me/', { rawBody: '{"__proto__": {"first_name": "x"}}' }),
        'validation_error',
        '__proto__',
      );
    });

    it('the last value of a duplicate field counts', async () => {
      expectError(
        await createRaw('{"model": "imgmodel-2", "model": "none", "prompt": "a", "params": {}}'),
        'validation_error',
        'model',
      );
    });

    it('deep nesting inside a field is rejected by the name of the field', async () => {
      const nested = '{"a":'.repeat(5_000) + '1' + '}'.repeat(5_000);
      expectError(
        await createRaw(`{"model": "imgmodel-2", "prompt": ${nested}, "params": {}}`),
        'validation_error',
        'prompt',
      );
      expectError(
        await createRaw(`{"model": "imgmodel-2", "prompt": "a", "params": {"resolution": "1K", "deep": ${nested}}}`),
        'validation_error',
        'params.deep',
      );
    });

    it('a field name with invalid Unicode is repeated as valid text', async () => {
      const answer = await createRaw('{"\\ud800\\u0000": 1, "model": "imgmodel-2", "prompt": "a", "params": {}}');
      expectError(answer, 'validation_error');
      const long = await create({ ['x'.repeat(10_000)]: 1 });
      expectError(long, 'validation_error');
      expect(long.body.detail.length).to.be.below(300);
    });

    it('endpoints without a body accept an absent one', async () => {
      for (const body of [{}, { anything: 1 }])
        expect((await ask('POST', '/api/billing/portal/', { body })).status).to.equal(200);
    });
  });

  describe('page', () => {
    const bad = [
      '0',
      '-1',
      '1.5',
      'abc',
      '',
      '1e3',
      '0x10',
      '+1',
      '-0',
      '1e309',
      'NaN',
      'null',
      'true',
      '1,2',
      '1;2',
      '99999999999999999999',
      '٣',
      '1%00',
      '%ff',
      '1 2',
    ];
    for (const page of bad) {
      it(`page ${JSON.stringify(page)} returns 400 validation_error on every list`, async () => {
        for (const path of LISTS)
          expectError(
            await ask('GET', `${path}?page=${encodeURI(page).replaceAll('%25', '%')}`),
            'validation_error',
            'page',
          );
      });
    }

    for (const query of ['?page=1&page=2', '?page=&page=1', '?page']) {
      it(`${query} returns 400 validation_error on every list`, async () => {
        for (const path of LISTS) expectError(await ask('GET', `${path}${query}`), 'validation_error', 'page');
      });
    }

    for (const query of [
      '',
      '?',
      '?page=1',
      '?page=01',
      '?other=5',
      '?page[]=5',
      '?page%5Bx%5D=5',
      '?Page=5',
      '?__proto__=5',
      '?constructor=5',
      '?utm_source=x&page=1',
    ]) {
      it(`${query || 'no query'} returns the first page of every list`, async () => {
        for (const path of LISTS) {
          const { status, body } = await ask('GET', `${path}${query}`);
          expect([status, body.pagination?.current_page], `${path}${query}`).to.deep.equal([200, 1]);
        }
      });
    }

    for (const page of ['2', '1000', '107374183', '200000000', '2147483648', '90071992547409']) {
      it(`page ${page}, after the last one of every list, returns 200 with empty data`, async () => {
        for (const path of LISTS) {
          const { status, body } = await ask('GET', `${path}?page=${page}`);
          expect([status, body.data], path).to.deep.equal([200, []]);
          expect(body.pagination).to.include({ current_page: Number(page), next: null, total_pages: 1 });
        }
      });
    }
  });

  it('errors never reveal internal details', async () => {
    const answers: ApiResponse[] = [
      await create({}),
      await customer.readGeneration('x'),
      await service.request('GET', '/api/keys/'),
    ];
    for (const { body } of answers)
      expect(body.detail).to.not.match(/ajv|koa|knex|select|postgres|node_modules|\bat \//i);
  });

  it('a video and an image are still accepted after all these requests', async () => {
    const other = await service.createCustomer('pro');
    expect((await other.createGeneration(IMAGE)).status).to.equal(201);
    expect((await other.createGeneration(VIDEO)).status).to.equal(201);
  });
});
