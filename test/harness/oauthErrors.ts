import { expect } from 'chai';
import type { ApiResponse } from './apiClient.ts';
import { GLUED_ADDRESS } from './errorEnvelope.ts';

/** Expects an error response as RFC 6749, 5.2 defines it. */
export function expectOAuthError({ status, body, headers }: ApiResponse, code: string, expected = 400): void {
  expect([status, body.error], JSON.stringify(body)).to.deep.equal([expected, code]);
  expect(Object.keys(body)).to.have.members(['error', 'error_description']);
  // Printable ASCII without quotes and backslashes.
  expect(body.error_description).to.match(/^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/);
  expect(body.error_description).to.not.match(GLUED_ADDRESS);
  expect(headers.get('cache-control')).to.equal('no-store');
}
