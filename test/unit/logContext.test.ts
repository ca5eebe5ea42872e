import { expect } from 'chai';
import { withLogContext, getRequestId, getLogContext } from '../../shared/lib/logContext.ts';

const GENERATION = '0199aaaa-0000-7000-8000-000000000001';
const OTHER = '0199aaaa-0000-7000-8000-000000000002';
const outside = { bindings: () => ({}) };

describe('the log context', () => {
  it('adds the request and the job of a generation to its log lines', () => {
    withLogContext({ id: '7', queue: 'poll', generations: [{ uuid: GENERATION, requestId: 'request-1' }] }, () => {
      expect(getLogContext({ generationId: GENERATION }, 30, outside)).to.deep.equal({
        requestId: 'request-1',
        queue: 'poll',
        jobId: '7',
      });
      expect(getLogContext({}, 30, outside)).to.deep.equal({ queue: 'poll', jobId: '7' });
      expect(getLogContext({ queue: 'media', jobId: '3' }, 50, outside)).to.deep.equal({});
    });
    expect(getLogContext({ generationId: GENERATION }, 30, outside)).to.deep.equal({
      requestId: 'request-1',
      queue: 'poll',
      jobId: '7',
    });
    expect(getLogContext({ generationId: OTHER }, 30, outside)).to.deep.equal({});
    expect(getRequestId(GENERATION)).to.equal('request-1');
    expect(getRequestId(OTHER)).to.equal(undefined);
  });

  it("does not repeat the request on the request's own log lines", () => {
    withLogContext({ id: '8', queue: 'poll', generations: [{ uuid: OTHER, requestId: 'request-2' }] }, () => {});
    const inside = { bindings: () => ({ requestId: 'request-2' }) };
    expect(getLogContext({ generationId: OTHER }, 30, inside)).to.deep.equal({ queue: 'poll', jobId: '8' });
  });
});
