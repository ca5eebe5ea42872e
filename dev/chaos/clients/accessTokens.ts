import type { ObservedKey } from './clientStore.ts';

/** A token of an application. Each API process is an issuer of its own here, and accepts only its own tokens. */
export interface AccessToken extends ObservedKey {
  address: string;
  /** By the clock of the service. */
  expiresAt: Date;
  /** Newest refresh token of its grant, which all processes accept; null if its response was lost. */
  refreshToken: string | null;
  refreshExpiresAt: Date;
}

/** The clock of a process may be off by a minute, and that of a request by its duration. */
const EXPIRY_MARGIN_MS = 3 * 60_000;

/** Returns true if the refresh token is, or will soon be, too old. */
export function mayHaveExpiredRefresh(clock: { now(): Date }, { refreshExpiresAt }: AccessToken): boolean {
  return clock.now().getTime() + EXPIRY_MARGIN_MS > refreshExpiresAt.getTime();
}

/** Returns true if a credential is a token that is, or will soon be, too old. Months pass during a run. */
export function mayHaveExpired(clock: { now(): Date }, key: ObservedKey | AccessToken): boolean {
  return 'expiresAt' in key && clock.now().getTime() + EXPIRY_MARGIN_MS > key.expiresAt.getTime();
}
