import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { type TestCustomer, IMAGE } from '../harness/apiClient.ts';
import { type TestService, startTestService } from '../harness/testService.ts';

const RECEIVER = 'https://receiver.example/webhooks?source=genmeter';

describe('webhook_url of a create', () => {
  let service: TestService;
  let customer: TestCustomer;
  before(async () => {
    service = await startTestService({ workers: 0, env: { WEBHOOK_ADDRESSES: 'public' } });
    customer = await service.createCustomer('studio');
  });
  after(() => service.stop());

  const create = (body: object, key?: string) =>
    customer.request('POST', '/api/generations/create/', {
      body: { ...IMAGE, prompt: 'a lighthouse', ...body },
      headers: key === undefined ? {} : { 'idempotency-key': key },
    });

  it('is stored, and is not part of the generation that the API returns', async () => {
    const { status, body } = await create({ webhook_url: RECEIVER });
    expect(status).to.equal(201);
    expect(body).to.not.have.property('webhook_url');
    expect((await customer.readGeneration(body.uuid)).body).to.deep.equal(body);
    const [row] = await service.sql('SELECT webhook_url FROM generations WHERE uuid = $1', [body.uuid]);
    expect(row.webhook_url).to.equal(RECEIVER);
  });

  const invalid: Record<string, unknown> = {
    'not an address': 'receiver.example/webhooks',
    'of another protocol': 'ftp://receiver.example/',
    'with a user name and password': 'https://user:secret@receiver.example/',
    'longer than 2,000 characters': `https://receiver.example/${'a'.repeat(2_000)}`,
    'of a private network': 'http://169.254.169.254/latest/',
    empty: '',
    'a number': 5,
    null: null,
  };
  for (const [name, value] of Object.entries(invalid)) {
    it(`is rejected if it is ${name}, and nothing is charged`, async () => {
      const before = await customer.balance();
      const { status, body } = await create({ webhook_url: value });
      expect([status, body.error]).to.deep.equal([400, 'validation_error']);
      expect(body.detail).to.match(/^webhook_url must/);
      expect(body.detail).to.not.include('secret');
      expect(await customer.balance()).to.equal(before);
    });
  }

  it('is part of the comparison of requests with the same Idempotency-Key', async () => {
    const key = randomUUID();
    const first = await create({ webhook_url: RECEIVER }, key);
    const again = await create({ webhook_url: RECEIVER }, key);
    expect([again.status, again.body]).to.deep.equal([201, first.body]);
    for (const other of [{}, { webhook_url: `${RECEIVER}&other` }]) {
      const { status, body } = await create(other, key);
      expect([status, body.error]).to.deep.equal([400, 'validation_error']);
      expect(body.detail).to.include('Idempotency-Key');
    }
  });
});
