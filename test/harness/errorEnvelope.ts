import { expect } from 'chai';
import { ERROR_STATUS, type ErrorCode } from '../../shared/spec/errors.ts';
import type { ApiResponse } from './apiClient.ts';

/** An address that cannot be copied without the punctuation after it, unless it is an example. */
export const GLUED_ADDRESS = /(?<!such as )https?:\/\/[^\s"]+[.,;](\s|$)/;

/**
 * Fails unless a response is the error envelope with this code and its status.
 * @param mentions a part of `detail`, such as the name of the invalid field
 * @param status overrides the status of the code
 */
export function expectError(
  response: ApiResponse,
  code: ErrorCode,
  mentions = '',
  status: number = ERROR_STATUS[code],
): void {
  const { body, headers } = response;
  expect([response.status, body?.error], JSON.stringify(body)).to.deep.equal([status, code]);
  expect(Object.keys(body)).to.have.members(['error', 'detail']);
  expect(body.detail)
    .to.be.a('string')
    .that.includes(mentions)
    .and.matches(/\S.*\.$/s)
    .and.not.match(GLUED_ADDRESS);
  expect(headers.get('content-type')).to.equal('application/json; charset=utf-8');
  if (status === 503) expect(Number(headers.get('retry-after'))).to.be.within(1, 60);
}

const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
export const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export function expectTimestamp(text: unknown): void {
  expect(text).to.be.a('string').that.matches(TIMESTAMP);
}

/** Counts the occurrences of each value. */
export function countOccurrences(values: (string | number)[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const value of values) counts[value] = (counts[value] ?? 0) + 1;
  return counts;
}
