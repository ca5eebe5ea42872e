import { deflateSync, gzipSync } from 'node:zlib';
import { expect } from 'chai';
import { IMAGE, type TestCustomer } from '../harness/apiClient.ts';
import { expectError } from '../harness/errorEnvelope.ts';
import { CREATE, type InvalidRequests, startInvalidRequests } from '../harness/invalidRequests.ts';
import { sendRawRequest } from '../harness/rawRequest.ts';
import { VALID_BODIES } from '../harness/routes.ts';
import type { TestService } from '../harness/testService.ts';

/** Method and path of each endpoint that takes fields. */
const WITH_BODY = Object.keys(VALID_BODIES).map((name) => name.split(' ') as [string, string]);

describe('a request with an invalid body', () => {
  let requests: InvalidRequests;
  let service: TestService;
  let customer: TestCustomer;
  before(async () => {
    requests = await startInvalidRequests();
    ({ service, customer } = requests);
  });
  after(() => service.stop());
  afterEach('nothing was charged', () => requests.expectNoEffect());

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
        expectError(await requests.send(method, path, { rawBody }), 'validation_error');
      }
    });
  }

  it('an absent body counts as empty, and the error names the missing field', async () => {
    for (const rawBody of ['', '{}']) {
      expectError(await requests.createRaw(rawBody), 'validation_error', 'model');
      expectError(await requests.send('POST', '/api/keys/create/', { rawBody }), 'validation_error', 'name');
      expectError(await requests.send('POST', '/api/billing/checkout/', { rawBody }), 'validation_error', 'plan');
      expectError(await requests.send('POST', '/api/billing/topup/', { rawBody }), 'validation_error', 'amount_cents');
    }
    expectError(await requests.send('POST', CREATE), 'validation_error', 'model');
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
      expectError(await requests.createRaw(rawBody, { 'content-type': type }), 'validation_error', 'Content-Type');
      expectError(
        await requests.send('POST', '/api/billing/checkout/', { rawBody, headers: { 'content-type': type } }),
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
      expectError(await requests.createRaw(rawBody, { 'content-encoding': encoding }), 'validation_error');
    });
  }

  it('supported content encodings are accepted', async () => {
    for (const coding of ['gzip', 'GZIP', 'Gzip'])
      expectError(
        await requests.createRaw(gzipSync(body), { 'content-encoding': coding }),
        'validation_error',
        'extra',
      );
    expectError(
      await requests.createRaw(body, { 'content-type': 'application/json; charset=utf-8' }),
      'validation_error',
      'extra',
    );
  });

  it('a body of 12 MB returns 413 validation_error', async () => {
    const megabytes = `{"prompt": "${'x'.repeat(12 * 1024 * 1024)}"}`;
    for (const [method, path] of WITH_BODY) {
      expectError(await requests.send(method, path, { rawBody: megabytes }), 'validation_error', 'bytes', 413);
    }
  });

  it('a small body that unpacks to 12 MB returns 413 validation_error', async () => {
    const bomb = gzipSync(`{"prompt": "${'x'.repeat(12 * 1024 * 1024)}"}`);
    expect(bomb.length).to.be.below(64 * 1024);
    expectError(await requests.createRaw(bomb, { 'content-encoding': 'gzip' }), 'validation_error', 'bytes', 413);
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
