import { expect } from 'chai';
import { toServiceError } from '../../api/pipeline/errors.ts';
import type { State } from '../../api/context.ts';

describe('an error of the database in a request', () => {
  const logged: string[] = [];
  const log = { error: (_: object, message: string) => logged.push(message) };
  const state = { requestId: 'id', log } as unknown as State;
  beforeEach(() => logged.splice(0));
  const convert = (code: string) => toServiceError(Object.assign(new Error('failed'), { code }), { state });

  it('is a 503 that says when to try again, if the transaction was ended because of a deadlock', () => {
    expect(convert('40P01')).to.include({ code: 'internal_error', retryAfterSeconds: 5 });
    expect(logged).to.deep.equal(['transaction ended by a deadlock']);
  });

  it('is a 500 with the id of the request, if it is of any other kind', () => {
    const error = convert('22012');
    expect(error).to.include({ code: 'internal_error', retryAfterSeconds: undefined });
    expect(error.message).to.include('Quote id to support.');
  });
});
