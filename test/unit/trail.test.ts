import { expect } from 'chai';
import { follow, noteRequest, requestsOf, trailOf } from '../../shared/lib/trail.ts';

const GENERATION = '0199aaaa-0000-7000-8000-000000000001';
const OTHER = '0199aaaa-0000-7000-8000-000000000002';
const outside = { bindings: () => ({}) };

describe('the trail of a request', () => {
  it('names the request and the job of the generation that a line is about', () => {
    follow({ id: '7', queue: 'polls', generationIds: [GENERATION], requestIds: { [GENERATION]: 'request-1' } }, () => {
      expect(trailOf({ generationId: GENERATION }, 30, outside)).to.deep.equal({
        requestId: 'request-1',
        queue: 'polls',
        jobId: '7',
      });
      expect(trailOf({}, 30, outside)).to.deep.equal({ queue: 'polls', jobId: '7' });
      expect(trailOf({ queue: 'files', jobId: '3' }, 50, outside)).to.deep.equal({});
    });
    expect(trailOf({ generationId: GENERATION }, 30, outside)).to.deep.equal({
      requestId: 'request-1',
      queue: 'polls',
      jobId: '7',
    });
    expect(trailOf({ generationId: OTHER }, 30, outside)).to.deep.equal({});
    expect(requestsOf([GENERATION, OTHER])).to.deep.equal({ [GENERATION]: 'request-1' });
    expect(requestsOf([OTHER])).to.equal(undefined);
  });

  it("leaves the request's own log as it is", () => {
    noteRequest(OTHER, 'request-2');
    const inside = { bindings: () => ({ requestId: 'request-2' }) };
    expect(trailOf({ generationId: OTHER }, 30, inside)).to.deep.equal({});
  });
});
