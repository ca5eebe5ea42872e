import { expect } from 'chai';

/** Returns the error of a rejected promise, or an error that says that it was not rejected. */
export function captureError(work: Promise<unknown>): Promise<Error> {
  return work.then(
    () => new Error('It succeeded.'),
    (error: Error) => error,
  );
}

/** Fails unless a promise is rejected with this message. @returns the error. */
export async function expectRejection(work: Promise<unknown>, message: RegExp): Promise<Error> {
  const error = await captureError(work);
  expect(error.message).to.match(message);
  return error;
}
