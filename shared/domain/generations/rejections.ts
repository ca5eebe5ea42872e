import { ServiceError } from '../../spec/errors.ts';
import { Account } from '../../tables/Account.ts';
import { ACCOUNT_SUSPENDED_DETAIL, invalidCredentialError, verifyApiKey } from '../accounts/credentials.ts';
import { keyChangedError, roleChangedError } from '../accounts/lockedCredentials.ts';
import { type Caller, requireAccess, requireAllowedAddress, requireAllowedModel } from '../accounts/caller.ts';
import { buildSubscriptionRequiredError } from '../credits/entitlement.ts';
import { buildReachedLimitError, type LimitOwner } from '../spendingLimits/reachedLimitError.ts';
import type { Rejection } from './chargeRequest.ts';

/* Errors of requests that are rejected. `decideCreates.sql` decides. */

/** Builds the error of a rejection, for the client, or throws it. */
export async function buildRejectionError(
  rejection: Rejection,
  request: { model: string; credits: number },
  caller: Caller,
): Promise<ServiceError> {
  if (rejection === 'invalid_api_key') return invalidCredentialError(caller);
  if (rejection === 'role_changed') return roleChangedError();
  if (rejection === 'insufficient_scope') return buildScopeError(request, caller);
  if (rejection === 'subscription_required') {
    const account = await Account.query().findById(caller.accountId).throwIfNotFound();
    const detail = 'Creating generations requires an active subscription. Choose a plan, then try again.';
    return buildSubscriptionRequiredError(account, detail);
  }
  if (rejection === 'spending_limit_reached') return buildReachedLimitError(getLimitOwner(caller), request.credits);
  return new ServiceError(rejection, REJECTION_DETAILS[rejection](request));
}

/** The key was restricted after the request was authenticated. */
async function buildScopeError({ model }: { model: string }, { credential }: Caller): Promise<ServiceError> {
  if (credential.kind === 'key') {
    const present = await verifyApiKey(credential);
    requireAllowedAddress(present);
    requireAccess(present, 'svc:write');
    requireAllowedModel(present, model);
  }
  return keyChangedError('insufficient_scope', 'was changed');
}

function getLimitOwner({ accountId, credential, member }: Caller): LimitOwner {
  return {
    accountId,
    keyHash: credential.kind === 'key' ? credential.hash : null,
    clientId: credential.kind === 'token' ? credential.clientId : null,
    memberNumber: member?.number ?? null,
  };
}

const REJECTION_DETAILS: Record<
  Exclude<
    Rejection,
    'invalid_api_key' | 'role_changed' | 'insufficient_scope' | 'subscription_required' | 'spending_limit_reached'
  >,
  (request: { model: string; credits: number }) => string
> = {
  account_suspended: () => ACCOUNT_SUSPENDED_DETAIL,
  model_unavailable: ({ model }) => `${model} is currently unavailable. No credits were charged. Try again later.`,
  parallel_limit_reached: () =>
    'As many generations are in progress as the account may have at once. Wait until one has finished, then try again.',
  insufficient_credits: ({ credits }) =>
    `The balance does not cover the ${credits} credits of this generation. Top up, or wait for the next grant.`,
};

/** Follows the detail of `insufficient_credits` while a bank processes an automatic top-up. */
export const TOPUP_PROCESSING_DETAIL =
  'The bank is still processing an automatic top-up, which can take days; its credits are added once it is paid.';

/**
 * Returns the detail of a create that failed before its charge.
 * @param idempotencyKey an earlier request with the same key may still be committing, so its outcome is not certain.
 */
export function buildNotCreatedDetail(idempotencyKey: string | null, reason: string): string {
  return idempotencyKey === null
    ? `${reason} No generation was created and no credits were charged. Try again in a few seconds.`
    : `${reason} This attempt created no generation and charged no credits; an earlier one with the same Idempotency-Key may have. Repeat the request with the same Idempotency-Key to get its outcome.`;
}
