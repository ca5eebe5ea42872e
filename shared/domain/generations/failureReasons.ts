import { FAILURE_MESSAGES } from '../../gateways/upstreams/index.ts';

/**
 * Reasons of failures as staff see them without `viewContent`: the messages of the service, and one reason for all
 * others.
 */

/** Messages of the service, which quote nothing. */
export const KNOWN_REASONS: readonly string[] = Object.values(FAILURE_MESSAGES);

/** Message of a generation that its owner canceled: its status is `failed`, but it is not a failure of an upstream. */
export const CANCELED_REASON = FAILURE_MESSAGES.canceledByOwner;

/** Returns whether the error of a generation says that its owner canceled it. */
export function isCanceledByOwner(error: string | null): boolean {
  return error === CANCELED_REASON;
}

/** The reason of failures whose message is the upstream's own, which may quote the prompt. */
export const OTHER_REASON = "Rejected with a message of the upstream's own.";
