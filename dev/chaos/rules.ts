import type { Violation } from '../../shared/domain/invariant.ts';

/** The rules that chaos checks in addition to the invariants of the database, by name. */
export const STATEMENTS = {
  'no-internal-errors': 'No response reports an internal error.',
  'errors-use-the-envelope': 'Every error uses the envelope with a documented code, and a 503 has Retry-After.',
  'responses-match-their-schema': 'Every response has the documented fields.',
  'expected-responses-only': 'A request is rejected only with an error that it can cause.',
  'valid-key-is-accepted': 'A key or an access token is accepted until it is revoked.',
  'revoked-key-is-rejected': 'All processes reject a key or an access token as soon as its revocation is acknowledged.',
  'key-options-are-kept':
    'From the acknowledgement of a change on, all processes reject what the options of a key do not allow: scopes, models and addresses.',
  'member-rights-are-kept':
    'From the acknowledgement of a removal or of another role on, no process creates with the session of the member.',
  'expired-key-is-rejected': 'All processes reject a key from its expiry on.',
  'refresh-returns-tokens':
    'Every refresh with a valid token returns tokens of its own, also of several at the same moment and after lost responses.',
  'used-refresh-token-is-rejected': 'A refresh token is rejected once one of its successors was used.',
  'estimate-is-the-price':
    'An estimate is a price of the catalog, and a create costs what an estimate of the same process said before and after it.',
  'suspended-account-is-rejected':
    'All processes reject the keys of an account as soon as its suspension is acknowledged, until it is reinstated.',
  'created-exists': 'Everything in a 201 response exists, with the same values.',
  'price-matches-the-catalog': 'A generation costs what the catalog says.',
  'application-is-recorded': 'A generation records the application that created it, and no other one.',
  'end-is-final': 'A generation that has ended does not change.',
  'output-can-be-fetched': 'A succeeded generation has an output that can be downloaded.',
  'cancel-returns-the-outcome':
    'A cancellation returns 200 with a generation that has ended, or 202 with a queued one.',
  'canceled-was-requested': 'A generation is canceled only if a client asked for it.',
  'deleted-is-gone': 'A generation disappears when its deletion is acknowledged, and not without a deletion.',
  'gift-code-is-redeemed-once': 'An account redeems a gift code at most once.',
  'same-key-same-response': 'Requests with one Idempotency-Key have the effect and the response of one request.',
  'one-generation-per-create': 'A create leads to at most one generation.',
  'rejected-is-not-charged': 'A rejected create leads to no generation.',
  'no-charge-after-a-rejection': 'After a create was rejected for lack of credits, no card is charged for it.',
  'automatic-charges-have-a-cause':
    'An automatic top-up follows a burn that left the balance below the threshold, or a create that the balance does not cover.',
  'no-needless-automatic-charge':
    'No card is charged automatically for credits that the customer has paid on a page already.',
  'suspension-clears-the-trigger': 'A suspension clears the trigger of an automatic top-up.',
  'no-unrequested-generations': 'A customer has only generations that they created.',
  'lists-show-own-items': 'A list contains only items of its account.',
  'ledger-page-is-a-chain': 'On a ledger page each balance is the previous balance plus the amount.',
  'balance-is-never-negative': 'No balance in a response is below zero.',
  'balances-agree': 'The usage summary and the ledger show the same balance.',
  'paid-topup-is-credited': 'A paid top-up is in the ledger exactly once.',
  'paid-plan-is-known': 'A paid plan has a subscription.',
  'deletion-is-carried-out':
    'An acknowledged deletion stays requested until it is undone, and an erased account has no personal data left.',
  'payments-end-with-a-deletion':
    'Nothing is charged after a deletion has stopped the renewals of its account, and what is paid after the request is returned once the account is erased.',
  'adjustment-is-posted-once':
    'A credit adjustment by staff is in the ledger exactly once, however often it is requested.',
  'staff-refund-is-posted-once': 'A generation that staff refunded has one refund of its credits.',
  'ended-generation-is-announced':
    'The end of a generation reaches its webhook_url, and every endpoint that was subscribed to it throughout, at least once.',
  'webhook-event-is-known':
    'A webhook contains an event of the account that the address belongs to, of a subscribed type, with the outcome of the generation.',
  'webhook-id-is-stable': 'All attempts of an event have the same webhook-id and the same body.',
  'webhook-is-signed': 'A webhook is signed with the keys of its endpoint.',
  'webhook-data-equals-get': 'The data of a webhook equals the response of GET.',
  'succeeded-delivery-was-accepted': 'A delivery has succeeded only if its receiver accepted it.',
  'endpoint-change-holds': 'An acknowledged change of a webhook endpoint holds.',
  'failing-endpoint-has-failed': 'A webhook endpoint is disabled only after five days without a success.',
  'referral-code-is-stable': 'The referral code of an affiliate does not change.',
  'windows-match-at-every-commit':
    'After every commit, the use of a spending limit equals the cost of the generations that were charged in its window, less their refunds.',
  'ended-grants-charge-nothing':
    'From the commit of its last revocation on, nothing is charged for an application, however early a create arrived.',
  'charges-keep-limits': 'No charge raises the use of a spending limit above the limit.',
  'created-content-was-allowed': 'Only content that the moderation service has allowed is charged and generated.',
  'priced-and-run-by-one-catalog':
    'A generation costs what the catalog that it records says, and only upstream models of this catalog run it.',
  'generations-have-their-images':
    'A paid generation that was created from an image keeps it until it is deleted, and each of its runs received it.',
  'runs-have-a-generation': 'Every run of an upstream belongs to a charged generation.',
  'run-once':
    'A generation runs once, at most once more if the outcome of its submission was unknown, and once more elsewhere if its run ended without a usable output.',
  'ended-by-its-last-run': 'A generation that was tried elsewhere fails as its last run has failed.',
  'canceled-runs-were-obsolete':
    'A run is canceled only if its generation has ended or waits for another run, or if its owner canceled it and the upstream said that it had not started.',
  'canceled-generations-did-not-run': 'A generation that its owner has canceled has no run that started.',
  'call-backs-are-not-believed': 'No generation has ended as a call-back says that the upstream does not confirm.',
  'success-has-an-output': 'A generation has succeeded only if the upstream produced an output.',
  'mail-is-sent': 'Every e-mail message is accepted by the mail server, unless it was given up after three days.',
  'mail-is-sent-once':
    'A message is accepted once, once more for each lost response, and twice more at most if processes died.',
  'mail-has-a-cause':
    'Every accepted message was recorded, and goes to the address of its account, or to that of the member whom it is about.',
  'owed-refunds-are-paid':
    'An owed refund is attempted within a minute of being due while the payment processor answers.',
  'responds-in-time': 'No request hangs beyond 5 s while Postgres or Redis is down.',
  'taken-over-in-time': 'Generations that a killed worker held end within 15 s plus the time of the upstream.',
  'stopped-in-time': 'A process stops within 10 s of SIGTERM.',
  'first-success': 'The first request succeeds within 10 s of healing.',
  'all-settled': 'Everything has settled within 120 s of healing.',
  'events-are-delivered': 'Every event is delivered.',
  'processes-keep-running': 'No process exits on its own.',
} as const;

export type Rule = keyof typeof STATEMENTS;

export function violate(invariant: Rule, accountId: string | null, subject: string, detail: string): Violation {
  return { invariant, statement: STATEMENTS[invariant], accountId, subject, detail };
}

/** A violation that a client found: clients know an account by its uuid, and the service by its id. */
export interface ClientViolation extends Violation {
  accountUuid: string | null;
}

/** Records a contradiction between observations and the database. */
export type ReportFunction = (rule: Rule, accountUuid: string, subject: string, detail: string) => void;

/** Adds a violation, unless there is one of the same subject. */
export function addViolation(
  violations: ClientViolation[],
  invariant: Rule,
  accountUuid: string | null,
  subject: string,
  detail: string,
): void {
  if (violations.some((known) => known.invariant === invariant && known.subject === subject)) return;
  violations.push({ ...violate(invariant, null, subject, detail), accountUuid });
}
