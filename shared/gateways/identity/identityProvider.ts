/** Sign-in providers. Their names are part of URLs and are stored in the database. */
export const PROVIDER_NAMES = ['google', 'apple', 'github'] as const;
export type ProviderName = (typeof PROVIDER_NAMES)[number];

/** Random single-use values of a sign-in, against which the callback is checked. */
export interface SignInSecrets {
  state: string;
  /** PKCE code verifier. */
  codeVerifier: string;
  nonce: string;
}

/** Identity at a provider. */
export interface ProviderIdentity {
  /** Identifier at the provider. It never changes and is never reassigned. */
  subject: string;
  email: string | null;
  isEmailVerified: boolean;
  /** Empty if the provider does not supply it. */
  firstName: string;
}

/** A change that a person has made at the provider. */
export interface IdentityNotification {
  /** Name of the event at the provider. */
  type: string;
  subject: string;
  /** Time of the change; sessions opened later are not concerned. */
  at: Date;
}

/** A sign-in provider. Its methods throw IdentityError. */
export interface IdentityProvider {
  /** @returns the URL to send the browser to. */
  createAuthorizationUrl(secrets: SignInSecrets, redirectUri: string): Promise<string>;
  /** @param parameters parameters of the callback. */
  completeSignIn(parameters: URLSearchParams, secrets: SignInSecrets, redirectUri: string): Promise<ProviderIdentity>;
  /** Verifies and parses a notification, if the provider sends them. */
  readNotification?(token: string): Promise<IdentityNotification>;
}

/**
 * - `denied`: the person canceled the sign-in.
 * - `rejected`: the provider rejected the sign-in, or its response cannot be trusted.
 * - `unavailable`: the provider does not respond, or its response cannot be parsed.
 */
export class IdentityError extends Error {
  readonly fault: 'denied' | 'rejected' | 'unavailable';

  constructor(fault: 'denied' | 'rejected' | 'unavailable', message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'IdentityError';
    this.fault = fault;
  }
}

/** Maps the `error` parameter of a callback. Apple has its own code for a canceled sign-in. */
export function toIdentityFault(error: string): IdentityError['fault'] {
  if (error === 'access_denied' || error === 'user_cancelled_authorize') return 'denied';
  return error === 'server_error' || error === 'temporarily_unavailable' ? 'unavailable' : 'rejected';
}
