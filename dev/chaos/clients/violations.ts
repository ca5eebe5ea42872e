import type { Violation } from '../../../shared/domain/credits/integrity/invariant.ts';

/** The rules that clients check, by name. */
export const STATEMENTS = {
  'no-internal-errors': 'No request is answered with a fault of the service.',
  'errors-in-the-envelope': 'Every error is told in the envelope, with a code that is known, and 503 with Retry-After.',
  'answers-as-described': 'Every answer has the fields that the interface describes.',
  'expected-answers-only': 'A request is refused only for a reason that it gave.',
  'good-key-is-accepted': 'A key that nobody has revoked is accepted.',
  'revoked-key-is-refused': 'A key is refused by all processes as soon as its revocation was answered.',
  'created-is-there': 'What was answered with 201 exists, as it was answered.',
  'price-is-the-catalogs': 'A generation costs what the catalog says.',
  'end-is-final': 'A generation that has ended stays as it ended.',
  'output-can-be-fetched': 'A generation that has succeeded has an output that can be downloaded.',
  'deleted-is-gone': 'A generation whose deletion was answered is gone, and one that nobody deleted is there.',
  'same-key-same-answer': 'Requests under one Idempotency-Key are one request.',
  'one-order-one-generation': 'An order leads to one generation at most.',
  'refused-is-not-charged': 'An order that was refused leads to no generation.',
  'no-charge-after-a-refusal': 'After a create was refused for lack of credits, no card is charged for it.',
  'automatic-charges-have-a-cause':
    'An automatic top-up follows a burn that left the balance below the threshold, or a create that the balance does not cover.',
  'nothing-unasked-for': 'A customer has no generation that they have not ordered.',
  'lists-are-ones-own': 'A list shows what belongs to its account, and nothing else.',
  'ledger-page-is-a-chain': 'On a page of the ledger each balance is the one before it and the amount.',
  'balance-is-never-negative': 'No balance that a client is told is below zero.',
  'balances-agree': 'The usage summary and the ledger tell the same balance.',
  'paid-topup-is-credited': 'A top-up that was paid is in the ledger, once.',
  'paid-plan-is-known': 'A plan that was paid is known to the service.',
  'code-stays': 'The code of an affiliate stays the same.',
} as const;
export type ClientRule = keyof typeof STATEMENTS;

/** A violation as a client sees it: clients know an account by its uuid, and the service by its id. */
export interface ClientViolation extends Violation {
  accountUuid: string | null;
  /** In milliseconds, as of `Date.now`. */
  at: number;
}

/** Adds a violation, unless there is one of the same subject. */
export function addViolation(
  violations: ClientViolation[],
  invariant: ClientRule,
  accountUuid: string | null,
  subject: string,
  detail: string,
): void {
  if (violations.some((known) => known.invariant === invariant && known.subject === subject)) return;
  violations.push({
    invariant,
    statement: STATEMENTS[invariant],
    accountId: null,
    accountUuid,
    subject,
    detail,
    at: Date.now(),
  });
}
