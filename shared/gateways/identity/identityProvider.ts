/** Who signs people in for us. The names stand in addresses and in the database. */
export const PROVIDER_NAMES = ['google', 'apple', 'github'] as const;
export type ProviderName = (typeof PROVIDER_NAMES)[number];

/** What a sign-in is begun with, and its answer held against. Each is random, and used once. */
export interface SignInSecrets {
  state: string;
  /** Of PKCE. */
  verifier: string;
  nonce: string;
}

/** Somebody, as the provider knows them. */
export interface ProviderIdentity {
  /** Never changes, and never means somebody else. */
  subject: string;
  email: string | null;
  isEmailVerified: boolean;
  /** Empty where the provider does not say. */
  firstName: string;
}

/** A sign-in provider. Both calls throw IdentityError. */
export interface IdentityProvider {
  /** @returns where the browser is to go. */
  createAuthorizationUrl(secrets: SignInSecrets, redirectUri: string): Promise<string>;
  /** @param parameters what the browser came back with. */
  completeSignIn(parameters: URLSearchParams, secrets: SignInSecrets, redirectUri: string): Promise<ProviderIdentity>;
}

/**
 * - `denied`: the person did not want to.
 * - `refused`: the provider's answer is a refusal, or is not to be trusted.
 * - `away`: it does not answer, or not in a way that makes sense.
 */
export class IdentityError extends Error {
  readonly fault: 'denied' | 'refused' | 'away';

  constructor(fault: 'denied' | 'refused' | 'away', message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'IdentityError';
    this.fault = fault;
  }
}

/** What an `error` that the browser brings back means. Apple has a name of its own for it. */
export function toIdentityFault(error: string): IdentityError['fault'] {
  if (error === 'access_denied' || error === 'user_cancelled_authorize') return 'denied';
  return error === 'server_error' || error === 'temporarily_unavailable' ? 'away' : 'refused';
}
