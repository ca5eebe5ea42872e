import type { KeyScope } from '../../spec/oauth.ts';

/** Rights of a restricted credential. Null: no restriction of that kind. */
export interface Restrictions {
  scopes: ReadonlySet<KeyScope>;
  /** Slugs of models. */
  allowedModels: readonly string[] | null;
  /** Networks in CIDR notation. */
  allowedIps: readonly string[] | null;
}

/** Identification of a caller. Keys and sessions are known by their hashes, access tokens by their grant. */
export type Credential =
  | KeyCredential
  | { kind: 'session'; hash: Buffer }
  | { kind: 'token'; grantUuid: string; clientId: string }
  /** None: the service acts on the account by itself. */
  | { kind: 'service' };

export interface KeyCredential {
  kind: 'key';
  hash: Buffer;
  /** Address of the client. */
  address: string;
}

/** Author of a request: an account, the credential that stands for it, and what that may do. */
export interface Caller {
  accountId: number;
  credential: Credential;
  /** True for a test account, which a test key acts on. */
  isTest?: boolean;
  /** Rights of the credential. Undefined: all rights of the account. */
  restrictions?: Restrictions;
}

/** Builds the caller of work that the service does on an account by itself. */
export const buildServiceCaller = (accountId: number): Caller => ({ accountId, credential: { kind: 'service' } });
