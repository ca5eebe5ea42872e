import { mock } from 'node:test';
import { expect } from 'chai';
import type { State } from '../../api/context.ts';
import { toServiceError } from '../../api/pipeline/errors.ts';
import { isOutage, isOutcomeUnknown } from '../../shared/lib/database/errors.ts';
import { logger } from '../../shared/lib/logger.ts';

const buildPoolerError = (message: string) => Object.assign(new Error(message), { code: '08P01' });

describe('an error of the database in a request', () => {
  const logged: string[] = [];
  const state: State = { requestId: 'id' };
  beforeEach(() => {
    logged.splice(0);
    mock.method(logger, 'child', () => ({ error: (_: object, message: string) => logged.push(message) }));
  });
  afterEach(() => mock.restoreAll());
  const convert = (code: string) => toServiceError(Object.assign(new Error('failed'), { code }), { state });

  it('is a 503 that says when to try again, if the transaction was ended because of a deadlock', () => {
    expect(convert('40P01')).to.include({ code: 'internal_error', retryAfterSeconds: 5 });
    expect(logged).to.deep.equal(['transaction ended by a deadlock']);
  });

  it('is a 503 that says that the service is busy, if the statement timed out, and no outage of the database', () => {
    const error = convert('57014');
    expect(error).to.include({ code: 'internal_error', retryAfterSeconds: 1 });
    expect(error.message).to.equal('The service is busy. The request was not run. Try again in a few seconds.');
    expect(logged).to.deep.equal(['statement timed out']);
  });

  it('does not say that the request was not run once its handler has begun', () => {
    state.hasBegun = true;
    expect(convert('57014').message).to.equal('The service is busy. Try again in a few seconds.');
    delete state.hasBegun;
  });

  it('is a 500 with the id of the request, if it is of any other kind', () => {
    const error = convert('22012');
    expect(error).to.include({ code: 'internal_error', retryAfterSeconds: undefined });
    expect(error.message).to.include('Quote id to support.');
  });
});

describe('an error of PgBouncer with the code 08P01', () => {
  for (const message of [
    'server login has been failing, cached error: connect failed (server_login_retry)',
    'pgbouncer cannot connect to server',
    'query_wait_timeout',
    'no more connections allowed (max_client_conn)',
  ]) {
    it(`is an outage in which the statement was certainly not run, if it is "${message}"`, () => {
      const error = buildPoolerError(message);
      expect([isOutage(error), isOutcomeUnknown(error)]).to.deep.equal([true, false]);
    });
  }

  it('is an outage in which the statement may have run, if the connection broke during it', () => {
    const error = buildPoolerError('server conn crashed?');
    expect([isOutage(error), isOutcomeUnknown(error)]).to.deep.equal([true, true]);
  });
});
