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
import type { Language } from '../../spec/languages.ts';
import { SIGN_IN_ATTEMPT_MS } from '../../spec/limits.ts';
import type { Person } from '../../tables/Person.ts';
import { SignInAttempt } from '../../tables/SignInAttempt.ts';
import type { ReferralClick } from '../affiliates/referrals.ts';
import { linkIdentity, type LinkProblem, signInWithIdentity } from './identities.ts';
import type { RequestOrigin } from '../accounts/securityEvents.ts';

/**
 * Reason why a sign-in failed: the fault of an IdentityError; `expired` if the attempt is unknown, too old, completed
 * or of another browser; or a problem of `signInWithIdentity` or `linkIdentity`.
 */
export type SignInProblem = IdentityError['fault'] | 'taken' | 'other_provider' | LinkProblem;

/** Outcome of a sign-in. `returnTo` is the path to open next, or null for an unknown attempt. */
export type SignInResult =
  | { problem: null; isLink: false; person: Person; identityUuid: string; returnTo: string }
  | { problem: null; isLink: true; returnTo: string }
  | { problem: SignInProblem; isLink: boolean; linked?: ProviderName[]; returnTo: string | null };

/** Purpose of a sign-in. */
export interface SignInRequest {
  returnTo: string;
  /** Referral link that the browser followed, if any. */
  referralClick?: ReferralClick | null;
  /** Session cookie of the person to link the identity to. Without it, the browser is signed in. */
  linkingToken?: string;
}

/**
 * Starts a sign-in with a provider.
 * @param browserSecret secret in the cookie of the browser. Only that browser can complete the sign-in.
 * @returns the authorization URL, or the reason why the provider cannot be used.
 * @throws ServiceError not_found if the provider is not configured.
 */
export async function startSignIn(
  name: ProviderName,
  browserSecret: string,
  { returnTo, referralClick = null, linkingToken }: SignInRequest,
): Promise<{ problem: null; address: string } | { problem: SignInProblem }> {
  const secrets: SignInSecrets = { state: randomHex(32), codeVerifier: randomHex(32), nonce: randomHex(32) };
  try {
    const address = await getProvider(name).createAuthorizationUrl(secrets, getRedirectUri(name));
    await SignInAttempt.query().insert({
      state_hash: sha256(secrets.state),
      browser_hash: sha256(browserSecret),
      provider: name,
      code_verifier: secrets.codeVerifier,
      nonce: secrets.nonce,
      return_to: returnTo,
      // Recorded now to detect self-referrals, because the callback does not read the session.
      referral_code: referralClick?.code ?? null,
      referral_clicked_at: referralClick?.clickedAt ?? null,
      referral_network: referralClick?.network ?? null,
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
 * Completes a sign-in with the parameters of the callback. An attempt can be completed once, whether or not it
 * succeeds, and only by the browser that started it.
 * @param language that of a new person.
 * @throws ServiceError not_found if the provider is not configured.
 */
export async function completeSignIn(
  name: ProviderName,
  browserSecret: string | undefined,
  parameters: URLSearchParams,
  origin: RequestOrigin,
  language: Language,
): Promise<SignInResult> {
  const provider = getProvider(name);
  const state = parameters.get('state') ?? '';
  const attempt = browserSecret === undefined ? undefined : await consumeSignInAttempt(name, browserSecret, state);
  if (attempt === undefined) return { problem: 'expired', isLink: false, returnTo: null };
  const { code_verifier: codeVerifier, nonce, return_to: returnTo, linking_session_hash: linkingSession } = attempt;
  const isLink = linkingSession !== null;
  try {
    const identity = await provider.completeSignIn(parameters, { state, codeVerifier, nonce }, getRedirectUri(name));
    if (linkingSession !== null)
      return { ...(await linkIdentity(name, identity, linkingSession, origin)), isLink: true, returnTo };
    const signedIn = await signInWithIdentity(name, identity, toReferralClick(attempt), origin, language);
    return { ...signedIn, isLink: false, returnTo };
  } catch (error) {
    return { problem: toSignInProblem(error, name), isLink, returnTo };
  }
}

function toReferralClick(attempt: SignInAttempt): ReferralClick | null {
  const {
    referral_code: code,
    referral_clicked_at: clickedAt,
    referral_signed_in_account_id: signedInAccountId,
    referral_network: network,
  } = attempt;
  return code === null || clickedAt === null ? null : { code, clickedAt, signedInAccountId, network };
}

/** Returns the callback URL, which must be registered with the provider exactly. */
function getRedirectUri(name: ProviderName): string {
  return `${config.BASE_URL}/authentication/social/${name}/callback`;
}

function getProvider(name: ProviderName) {
  const provider = getIdentityProviders()[name];
  if (provider === null) throw new ServiceError('not_found', 'Not found. This sign-in method is not available.');
  return provider;
}

/** Deletes and returns a sign-in attempt. Exactly one of several concurrent callers receives it. */
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
  if (error.fault !== 'denied') logger.warn({ provider, fault: error.fault, err: error }, 'sign-in failed');
  return error.fault;
}
