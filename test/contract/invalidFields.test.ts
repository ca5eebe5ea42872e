import { expect } from 'chai';
import { IMAGE, type TestCustomer, VIDEO } from '../harness/apiClient.ts';
import { expectError } from '../harness/errorEnvelope.ts';
import { type InvalidRequests, startInvalidRequests } from '../harness/invalidRequests.ts';
import { VALID_BODIES } from '../harness/routes.ts';
import type { TestService } from '../harness/testService.ts';
import { FIELDS, INVALID_CREATES, INVALID_VALUES } from './invalidFields.cases.ts';

describe('a request with an invalid field', () => {
  let requests: InvalidRequests;
  let service: TestService;
  let customer: TestCustomer;
  before(async () => {
    requests = await startInvalidRequests();
    ({ service, customer } = requests);
  });
  after(() => service.stop());
  afterEach('nothing was charged', () => requests.expectNoEffect());

  /** Reads everything about the customer that an unexpected field could change. */
  const readAccountState = async () => [
    (await customer.requestWithSession('GET', '/authentication/me/')).body,
    (await customer.request('GET', '/api/usage/summary/')).body,
    (await customer.request('GET', '/api/billing/topup/settings/')).body,
  ];

  for (const [method, path, field, template] of FIELDS) {
    it(`${method} ${path} rejects ${field} by name if its type is wrong or its text cannot be stored (${template.slice(0, 24)}…)`, async () => {
      for (const [what, value] of INVALID_VALUES) {
        const answer = await requests.send(method, path, { rawBody: template.replace('?', () => value) });
        expectError(answer, 'validation_error', field);
        expect(answer.body.detail, what).to.not.match(/[\ud800-\udfff\u0000]/);
      }
      const cut = template.replace('?', '"\uffff"');
      const bytes = Buffer.from(cut);
      const at = bytes.indexOf(Buffer.from('\uffff'));
      bytes.set([0x61, 0xff, 0x61], at);
      expectError(await requests.send(method, path, { rawBody: bytes }), 'validation_error', field);
    });
  }

  for (const [field, order] of INVALID_CREATES) {
    it(`create rejects ${field} by name in ${JSON.stringify(order).slice(0, 110)}`, async () => {
      expectError(await requests.create(order), 'validation_error', field);
    });
  }

  it('the detail lists the accepted durations', async () => {
    const { body } = await requests.create({ ...VIDEO, prompt: 'a', params: { duration: 7, resolution: '720p' } });
    expect(body.detail).to.equal('params.duration must be one of: 5, 10.');
  });

  it('the detail says which text cannot be stored', async () => {
    for (const prompt of ['a\u0000b', 'a\ud800b', 'a\ufffdb']) {
      const { body } = await requests.create({ ...IMAGE, prompt });
      expect(body.detail).to.equal('prompt must be Unicode text without NUL or replacement characters (U+FFFD).');
    }
  });

  it('__proto__ is rejected at every position, and changes no prototype', async () => {
    const bodies = [
      '{"__proto__": {"resolution": "1K"}, "model": "imgmodel-2", "prompt": "a", "params": {"resolution": "1K"}}',
      '{"model": "imgmodel-2", "prompt": "a", "params": {"__proto__": {"resolution": "1K"}}}',
      '{"model": "imgmodel-2", "prompt": "a", "params": {"resolution": "1K", "__proto__": null}}',
      '{"model": "imgmodel-2", "prompt": "a", "params": {"resolution": "1K", "\\u005f_proto__": 5}}',
    ];
    for (const rawBody of bodies) expectError(await requests.createRaw(rawBody), 'validation_error', '__proto__');
    expectError(
      await requests.send('POST', '/api/keys/create/', { rawBody: '{"name": "a", "__proto__": {"x": 1}}' }),
      'validation_error',
      '__proto__',
    );
    expectError(
      await requests.send('PATCH', '/authentication/me/', { rawBody: '{"__proto__": {"first_name": "x"}}' }),
      'validation_error',
      '__proto__',
    );
  });

  it('the last value of a duplicate field counts', async () => {
    expectError(
      await requests.createRaw('{"model": "imgmodel-2", "model": "none", "prompt": "a", "params": {}}'),
      'validation_error',
      'model',
    );
  });

  it('deep nesting inside a field is rejected by the name of the field', async () => {
    const nested = '{"a":'.repeat(5_000) + '1' + '}'.repeat(5_000);
    expectError(
      await requests.createRaw(`{"model": "imgmodel-2", "prompt": ${nested}, "params": {}}`),
      'validation_error',
      'prompt',
    );
    expectError(
      await requests.createRaw(
        `{"model": "imgmodel-2", "prompt": "a", "params": {"resolution": "1K", "deep": ${nested}}}`,
      ),
      'validation_error',
      'params.deep',
    );
  });

  it('a field name with invalid Unicode is repeated as valid text', async () => {
    const answer = await requests.createRaw(
      '{"\\ud800\\u0000": 1, "model": "imgmodel-2", "prompt": "a", "params": {}}',
    );
    expectError(answer, 'validation_error');
    const long = await requests.create({ ['x'.repeat(10_000)]: 1 });
    expectError(long, 'validation_error');
    expect(long.body.detail.length).to.be.below(300);
  });

  it('endpoints without a body accept an absent one', async () => {
    for (const body of [{}, { anything: 1 }])
      expect((await requests.send('POST', '/api/billing/portal/', { body })).status).to.equal(200);
  });

  describe('read-only fields', () => {
    const READ_ONLY = [
      'id',
      'uuid',
      'account_id',
      'email',
      'is_staff',
      'balance',
      'credits_charged',
      'status',
      'plan_slug',
      'preview_credits',
      'auto_topup_problem',
      'constructor',
    ];

    for (const [name, body] of Object.entries(VALID_BODIES)) {
      it(`${name} rejects each read-only or unknown field by name, and changes nothing`, async () => {
        const [method = '', path = ''] = name.split(' ');
        const before = await readAccountState();
        for (const field of READ_ONLY) {
          const answer = await customer.requestWithSession(method, path, { body: { ...body, [field]: 1 } });
          expectError(answer, 'validation_error', field);
        }
        expect(await readAccountState()).to.deep.equal(before);
      });
    }
  });

  it('a video and an image are still accepted after all these requests', async () => {
    const other = await service.createCustomer('pro');
    expect((await other.createGeneration(IMAGE)).status).to.equal(201);
    expect((await other.createGeneration(VIDEO)).status).to.equal(201);
  });
});
