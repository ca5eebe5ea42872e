import { expect } from 'chai';
import { isExpectedPage } from '../../dev/chaos/clients/pageRequests.ts';

const buildErrorPage = (detail: string) => `<!doctype html><h1>Request failed</h1><p>${detail}</p>`;

describe('the check of pages in chaos runs', () => {
  it('accepts a 401 that says that the session has ended', () => {
    for (const detail of [
      'The session has ended: sign in again.',
      'The session ended while the request ran. Nothing was created or changed: sign in again.',
    ])
      expect(isExpectedPage({ status: 401, text: buildErrorPage(detail) })).to.equal(true);
  });

  it('reports every other 401', () => {
    expect(isExpectedPage({ status: 401, text: buildErrorPage('Sign in first.') })).to.equal(false);
  });
});
