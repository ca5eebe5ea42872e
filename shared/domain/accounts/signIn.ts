import {
  IdentityError,
  type ProviderName,
  getIdentityProviders,
  type SignInSecrets,
} from '../../gateways/identity/index.ts';
import { config } from '../../lib/config.ts';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { logger } from '../../lib/logger.ts';
import { randomHex, sha256 } from '../../lib/secrets.ts';
import { ServiceError } from '../../spec/errors.ts';
import { SIGN_IN_ATTEMPT_MS } from '../../spec/limits.ts';
import type { Account } from '../../tables/Account.ts';
import { SignInAttempt } from '../../tables/SignInAttempt.ts';
import type { ReferralClick } from '../affiliates/referrals.ts';
import { linkIdentity, type LinkProblem, signInWithIdentity } from './identities.ts';

/**
 * Why a sign-in failed: what the provider said (see IdentityError); `expired`, where it is not known, too old, done
 * already or another browser's; or what `signInWithIdentity` and `linkIdentity` say.
 */
export type SignInProblem = IdentityError['fault'] | 'taken' | 'other_provider' | LinkProblem;

/** How a sign-in ended. `returnTo` is where it was begun, null where that is not known any more. */
export type SignInResult =
  | { problem: null; isLink: false; account: Account; identityUuid: string; returnTo: string }
  | { problem: null; isLink: true; accountId: number; returnTo: string }
  | { problem: SignInProblem; isLink: boolean; linked?: ProviderName[]; returnTo: string | null };

/** What a sign-in is begun for. */
export interface SignInRequest {
  returnTo: string;
  /** The referral link that the browser came by, if it did. */
  referralClick?: ReferralClick | null;
  /** Session cookie of the account that the identity is to be linked to; without it the browser is signed in. */
  linkingToken?: string;
}

/**
 * Begins a sign-in through a provider.
 * @param browserSecret the secret of the browser's cookie: only where it is, the sign-in can be completed.
 * @returns where to send the browser, or what is wrong with the provider.
 * @throws ServiceError not_found where the provider is not configured.
 */
export async function startSignIn(
  name: ProviderName,
  browserSecret: string,
  { returnTo, referralClick = null, linkingToken }: SignInRequest,
): Promise<{ problem: null; address: string } | { problem: SignInProblem }> {
  const secrets: SignInSecrets = { state: randomHex(32), verifier: randomHex(32), nonce: randomHex(32) };
  try {
    const address = await getProvider(name).createAuthorizationUrl(secrets, getRedirectUri(name));
    await SignInAttempt.query().insert({
      state_hash: sha256(secrets.state),
      browser_hash: sha256(browserSecret),
      provider: name,
      verifier: secrets.verifier,
      nonce: secrets.nonce,
      return_to: returnTo,
      // Who follows their own link is told apart here: in the answer no session counts.
      referral_code: referralClick?.code ?? null,
      referral_clicked_at: referralClick?.clickedAt ?? null,
      referral_signed_in_account_id: referralClick?.signedInAccountId ?? null,
      linking_session_hash: linkingToken === undefined ? null : sha256(linkingToken),
      expires_at: addMilliseconds(now(), SIGN_IN_ATTEMPT_MS),
    });
    return { problem: null, address };
  } catch (error) {
    return { problem: toSignInProblem(error, name) };
  }
}

/**
 * Completes a sign-in with what the browser brought back from the provider. Each can be completed once, whatever
 * comes of it, and only by the browser that began it.
 * @throws ServiceError not_found where the provider is not configured.
 */
export async function completeSignIn(
  name: ProviderName,
  browserSecret: string | undefined,
  parameters: URLSearchParams,
): Promise<SignInResult> {
  const provider = getProvider(name);
  const state = parameters.get('state') ?? '';
  const attempt = browserSecret === undefined ? undefined : await consumeSignInAttempt(name, browserSecret, state);
  if (attempt === undefined) return { problem: 'expired', isLink: false, returnTo: null };
  const { verifier, nonce, return_to: returnTo, linking_session_hash: linkingSession } = attempt;
  const isLink = linkingSession !== null;
  try {
    const identity = await provider.completeSignIn(parameters, { state, verifier, nonce }, getRedirectUri(name));
    if (linkingSession !== null)
      return { ...(await linkIdentity(name, identity, linkingSession)), isLink: true, returnTo };
    return { ...(await signInWithIdentity(name, identity, toReferralClick(attempt))), isLink: false, returnTo };
  } catch (error) {
    return { problem: toSignInProblem(error, name), isLink, returnTo };
  }
}

function toReferralClick(attempt: SignInAttempt): ReferralClick | null {
  const {
    referral_code: code,
    referral_clicked_at: clickedAt,
    referral_signed_in_account_id: signedInAccountId,
  } = attempt;
  return code === null || clickedAt === null ? null : { code, clickedAt, signedInAccountId };
}

/** Where a provider sends browsers back to: it must be told beforehand, to the letter. */
function getRedirectUri(name: ProviderName): string {
  return `${config.BASE_URL}/authentication/social/${name}/callback`;
}

function getProvider(name: ProviderName) {
  const provider = getIdentityProviders()[name];
  if (provider === null) throw new ServiceError('not_found', 'This way of signing in is not offered here.');
  return provider;
}

/** Of any number of callers, on any number of processes, one gets it. */
async function consumeSignInAttempt(
  name: ProviderName,
  browserSecret: string,
  state: string,
): Promise<SignInAttempt | undefined> {
  const deleted = await SignInAttempt.query()
    .where({ state_hash: sha256(state), browser_hash: sha256(browserSecret), provider: name })
    .where('expires_at', '>', now())
    .delete()
    .returning('*');
  return deleted[0];
}

function toSignInProblem(error: unknown, provider: ProviderName): SignInProblem {
  if (!(error instanceof IdentityError)) throw error;
  if (error.fault !== 'denied') logger.warn({ provider, fault: error.fault, error: error.message }, 'no sign-in');
  return error.fault;
}

const BATCH_SIZE = 1_000;

/** Forgets sign-ins that were never completed. */
export async function pruneExpiredSignIns(): Promise<void> {
  for (let deletedCount = BATCH_SIZE; deletedCount === BATCH_SIZE; ) {
    const expired = SignInAttempt.query().select('state_hash').where('expires_at', '<=', now()).limit(BATCH_SIZE);
    deletedCount = await SignInAttempt.query().whereIn('state_hash', expired).delete();
  }
}
