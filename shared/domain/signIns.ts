import { IdentityError, type ProviderName, providers, type SignInSecrets } from '../gateways/identity/index.ts';
import { config } from '../lib/config.ts';
import { addMilliseconds, now } from '../lib/clock.ts';
import { logger } from '../lib/logger.ts';
import { randomHex, sha256 } from '../lib/secrets.ts';
import { ServiceError } from '../spec/errors.ts';
import { SIGN_IN_ATTEMPT_MS } from '../spec/limits.ts';
import type { Account } from '../tables/Account.ts';
import { SignInAttempt } from '../tables/SignInAttempt.ts';
import type { FollowedLink } from './affiliates/referrals.ts';
import { linkIdentity, type LinkProblem, signInWithIdentity } from './identities.ts';

/**
 * Why a sign-in failed: what the provider said (see IdentityError); `expired`, where it is not known, too old, done
 * already or another browser's; or what `signInWithIdentity` and `linkIdentity` say.
 */
export type SignInProblem = IdentityError['fault'] | 'taken' | 'other_provider' | LinkProblem;

/** How a sign-in ended. `returnTo` is where it was begun, null where that is not known any more. */
export type SignInEnd =
  | { problem: null; isLink: false; account: Account; identityUuid: string; returnTo: string }
  | { problem: null; isLink: true; accountId: number; returnTo: string }
  | { problem: SignInProblem; isLink: boolean; linked?: ProviderName[]; returnTo: string | null };

/** What a sign-in is begun for. */
export interface SignInRequest {
  returnTo: string;
  /** The referral link that the browser came by, if it did. */
  link?: FollowedLink | null;
  /** Session cookie of the account that the identity is to be linked to; without it the browser is signed in. */
  linkingToken?: string;
}

/**
 * Begins a sign-in through a provider.
 * @param browser the secret of the browser's cookie: only where it is, the sign-in can be completed.
 * @returns where to send the browser, or what is wrong with the provider.
 * @throws ServiceError not_found where the provider is not configured.
 */
export async function beginSignIn(
  name: ProviderName,
  browser: string,
  { returnTo, link = null, linkingToken }: SignInRequest,
): Promise<{ problem: null; address: string } | { problem: SignInProblem }> {
  const secrets: SignInSecrets = { state: randomHex(32), verifier: randomHex(32), nonce: randomHex(32) };
  try {
    const address = await providerOf(name).begin(secrets, redirectUriOf(name));
    await SignInAttempt.query().insert({
      state_hash: sha256(secrets.state),
      browser_hash: sha256(browser),
      provider: name,
      verifier: secrets.verifier,
      nonce: secrets.nonce,
      return_to: returnTo,
      // Who follows their own link is told apart here: in the answer no session counts.
      referral_code: link?.code ?? null,
      referral_followed_at: link?.followedAt ?? null,
      referral_signed_in_as: link?.signedInAs ?? null,
      linking_session_hash: linkingToken === undefined ? null : sha256(linkingToken),
      expires_at: addMilliseconds(now(), SIGN_IN_ATTEMPT_MS),
    });
    return { problem: null, address };
  } catch (error) {
    return { problem: problemIn(error, name) };
  }
}

/**
 * Completes a sign-in with what the browser brought back from the provider. Each can be completed once, whatever
 * comes of it, and only by the browser that began it.
 * @throws ServiceError not_found where the provider is not configured.
 */
export async function completeSignIn(
  name: ProviderName,
  browser: string | undefined,
  parameters: URLSearchParams,
): Promise<SignInEnd> {
  const provider = providerOf(name);
  const state = parameters.get('state') ?? '';
  const attempt = browser === undefined ? undefined : await takeAttempt(name, browser, state);
  if (attempt === undefined) return { problem: 'expired', isLink: false, returnTo: null };
  const { verifier, nonce, return_to: returnTo, linking_session_hash: linkingSession } = attempt;
  const isLink = linkingSession !== null;
  try {
    const identity = await provider.complete(parameters, { state, verifier, nonce }, redirectUriOf(name));
    if (linkingSession !== null)
      return { ...(await linkIdentity(name, identity, linkingSession)), isLink: true, returnTo };
    return { ...(await signInWithIdentity(name, identity, linkOf(attempt))), isLink: false, returnTo };
  } catch (error) {
    return { problem: problemIn(error, name), isLink, returnTo };
  }
}

function linkOf(attempt: SignInAttempt): FollowedLink | null {
  const { referral_code: code, referral_followed_at: followedAt, referral_signed_in_as: signedInAs } = attempt;
  return code === null || followedAt === null ? null : { code, followedAt, signedInAs };
}

/** Where a provider sends browsers back to: it must be told beforehand, to the letter. */
function redirectUriOf(name: ProviderName): string {
  return `${config.BASE_URL}/authentication/social/${name}/callback`;
}

function providerOf(name: ProviderName) {
  const provider = providers()[name];
  if (provider === null) throw new ServiceError('not_found', 'This way of signing in is not offered here.');
  return provider;
}

/** Of any number of callers, on any number of processes, one gets it. */
async function takeAttempt(name: ProviderName, browser: string, state: string): Promise<SignInAttempt | undefined> {
  const taken = await SignInAttempt.query()
    .where({ state_hash: sha256(state), browser_hash: sha256(browser), provider: name })
    .where('expires_at', '>', now())
    .delete()
    .returning('*');
  return taken[0];
}

function problemIn(error: unknown, provider: ProviderName): SignInProblem {
  if (!(error instanceof IdentityError)) throw error;
  if (error.fault !== 'denied') logger.warn({ provider, fault: error.fault, error: error.message }, 'no sign-in');
  return error.fault;
}

const AT_ONCE = 1_000;

/** Forgets sign-ins that were never completed. */
export async function forgetExpiredSignIns(): Promise<void> {
  for (let forgotten = AT_ONCE; forgotten === AT_ONCE; ) {
    const expired = SignInAttempt.query().select('state_hash').where('expires_at', '<=', now()).limit(AT_ONCE);
    forgotten = await SignInAttempt.query().whereIn('state_hash', expired).delete();
  }
}
