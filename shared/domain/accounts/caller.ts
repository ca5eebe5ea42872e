import { config } from '../../lib/config.ts';
import { isInIpRanges } from '../../lib/ipRanges.ts';
import { listBriefly } from '../../lib/listBriefly.ts';
import { ServiceError } from '../../spec/errors.ts';
import { ALL_SCOPES, type KeyScope } from '../../spec/oauth.ts';
import { hasRight, MEMBER_RIGHTS, type MemberRight, type MemberRole } from '../../spec/roles.ts';

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

/** Member of an account for whom a request is made, and whose role it has. Of a removed one: the last role. */
export interface CallerMember {
  number: number;
  role: MemberRole;
}

/** Author of a request: an account, the credential that stands for it, and what that may do. */
export interface Caller {
  accountId: number;
  credential: Credential;
  /** The person of the session, or who made the key or approved the application. Undefined: the service. */
  member?: CallerMember;
  /** True for a test account, which a test key acts on. */
  isTest?: boolean;
  /** Rights of the credential. Undefined: all rights of the account. */
  restrictions?: Restrictions;
}

/** Returns the member for whom a request is made. */
export function requireMember({ member }: Caller): CallerMember {
  if (member === undefined) throw new Error('The service is not a member of an account.');
  return member;
}

/** Builds the caller of work that the service does on an account by itself. */
export const buildServiceCaller = (accountId: number): Caller => ({ accountId, credential: { kind: 'service' } });

/**
 * Access that a route requires of a credential: a scope, or a credential without any option. A key with options cannot
 * create or change keys, because another key would not have its limits.
 */
export type RequiredAccess = KeyScope | 'unrestricted';

const ALL_SCOPES_SET: ReadonlySet<KeyScope> = new Set(ALL_SCOPES);

/** Returns the scopes of a caller. */
export function getScopes({ restrictions }: Caller): ReadonlySet<KeyScope> {
  return restrictions?.scopes ?? ALL_SCOPES_SET;
}

/** @throws ServiceError insufficient_scope if the credential does not have the access that a route requires. */
export function requireAccess({ credential: { kind }, restrictions }: Caller, required: RequiredAccess): void {
  if (restrictions === undefined) return;
  const { scopes } = restrictions;
  const credential = kind === 'token' ? 'access token' : 'API key';
  if (required === 'unrestricted')
    throw insufficientScopeError(
      `This ${credential} cannot create or change API keys, because it is restricted. Use an API key without options, or open ${getKeysPage()} in a browser.`,
    );
  if (scopes.has(required)) return;
  const granted = [...scopes].join(' and ');
  const missing = required === 'account' && kind === 'token' ? 'access to the whole account' : `the scope ${required}`;
  throw insufficientScopeError(
    `This request requires ${missing}, but this ${credential} has only ${granted}. ${adviseChange(kind, required)}`,
  );
}

/** @throws ServiceError insufficient_scope if the role of the member does not have a right. */
export function requireRight({ member, credential: { kind } }: Caller, right: MemberRight): void {
  if (member === undefined || hasRight(member.role, right)) return;
  const roles = MEMBER_RIGHTS[right].join(', ');
  const whose = kind === 'session' ? 'Your role in this account' : 'The role of the member who made this credential';
  throw insufficientScopeError(
    `This requires one of the roles ${roles}. ${whose} is ${member.role}. The owner or an admin can change it.`,
  );
}

/** @throws ServiceError insufficient_scope if the credential may not use a model. */
export function requireAllowedModel({ restrictions }: Caller, model: string): void {
  const allowed = restrictions?.allowedModels ?? null;
  if (allowed === null || allowed.includes(model)) return;
  throw insufficientScopeError(
    `This API key may not use ${model}, only ${listBriefly(allowed)}. Choose one of these, or open ${getKeysPage()} to change the key.`,
  );
}

/** @throws ServiceError insufficient_scope if a key may not be used from the address of the client. */
export function requireAllowedAddress({ credential, restrictions }: Caller): void {
  const allowed = restrictions?.allowedIps ?? null;
  if (credential.kind !== 'key' || allowed === null || isInIpRanges(allowed, credential.address)) return;
  throw insufficientScopeError(
    `This API key may not be used from ${credential.address} because it allows other addresses only. Open ${getKeysPage()} to add this one.`,
  );
}

function adviseChange(kind: Credential['kind'], required: RequiredAccess): string {
  if (kind !== 'token') return `Use another API key, or open ${getKeysPage()} to change this one.`;
  return required === 'account'
    ? `Use an API key, or open ${config.BASE_URL}/account/ in a browser.`
    : 'Connect again and allow it.';
}

const getKeysPage = () => `${config.BASE_URL}/account/keys/`;

function insufficientScopeError(detail: string): ServiceError {
  return new ServiceError('insufficient_scope', detail);
}
