import { expect } from 'chai';
import { parsePayload } from '../../shared/queues/catalog.ts';

const UUID = '0199aaaa-0000-7000-8000-000000000001';
const TRACEPARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
const generation = { uuid: UUID, account_id: 1, model: 'imgmodel-2', catalog_id: null, is_test: false };

describe('the payload of a job', () => {
  it('has the request and the trace of each generation', () => {
    const payload = { generations: [{ ...generation, requestId: 'request-1', traceparent: TRACEPARENT }] };
    expect(parsePayload('generation.dispatch', payload)).to.equal(payload);
  });

  it('is rejected with fields that are not in the catalog', () => {
    for (const payload of [
      { generations: [{ ...generation, other: 1 }] },
      { generations: [{ uuid: UUID, account_id: 1, upstream: 'fal' }] },
      { generations: [generation], other: 1 },
      { generations: [] },
    ])
      expect(() => parsePayload('generation.dispatch', payload)).to.throw('Invalid payload of generation.dispatch');
  });
});
