import type { Caller } from '../../shared/domain/accounts/accounts.ts';
import { ServiceError } from '../../shared/spec/errors.ts';

/** Number of times that a request runs if the options of its key change each time. */
const ATTEMPTS = 5;

/**
 * Runs a request whose statement verifies the key. A rejection may come from options that were read before the last
 * change, or that changed before the statement has run: the request then runs again with the present options. An invalid
 * key takes precedence over every other rejection. A fault of the service stays as it is, because it describes the outcome.
 * @param refresh returns the caller with the present options of the key, or throws if it is not valid.
 */
export async function withCurrentKey<KeyCaller extends Caller, Result>(
  caller: KeyCaller,
  refresh: (caller: KeyCaller) => Promise<KeyCaller>,
  run: (caller: KeyCaller) => Promise<Result>,
): Promise<Result> {
  let current = caller;
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    try {
      return await run(current);
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code === 'internal_error' || caller.keyHash === null) throw error;
      const present = await refresh(current);
      if (present.keyVersion === current.keyVersion) throw error;
      current = present;
    }
  }
  const detail =
    'The options of the API key changed while the request ran, and nothing was done. Send the request again.';
  throw new ServiceError('internal_error', detail, { retryAfterSeconds: 1 });
}
