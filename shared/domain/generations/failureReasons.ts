import { FAILURE_MESSAGES } from '../../gateways/upstreams/index.ts';

/** Reasons of failures as staff see them without `viewContent`: the messages of the service, and one reason for all others. */

/** Messages of the service, which quote nothing. */
export const KNOWN_REASONS: readonly string[] = Object.values(FAILURE_MESSAGES);

/** The reason of failures whose message is the upstream's own, which may quote the prompt. */
export const OTHER_REASON = "Rejected with a message of the upstream's own.";
