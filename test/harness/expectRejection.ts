import { expect } from 'chai';

/** The error that work ends with, or one that says that there was none. */
export function captureError(work: Promise<unknown>): Promise<Error> {
  return work.then(
    () => new Error('It succeeded.'),
    (error: Error) => error,
  );
}

/** Fails unless work ends with an error that says this. @returns the error. */
export async function expectRejection(work: Promise<unknown>, message: RegExp): Promise<Error> {
  const error = await captureError(work);
  expect(error.message).to.match(message);
  return error;
}
