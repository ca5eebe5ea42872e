import { config } from '../../lib/config.ts';
import { isInIpRanges } from '../../lib/ipRanges.ts';
import { listBriefly } from '../../lib/listBriefly.ts';
import { ServiceError } from '../../spec/errors.ts';
import type { KeyScope } from '../../spec/oauth.ts';

/** Rights of a restricted credential. Null: no restriction of that kind. */
export interface Restrictions {
  scopes: ReadonlySet<KeyScope>;
  /** Slugs of models. */
  allowedModels: readonly string[] | null;
  /** Networks in CIDR notation. */
  allowedIps: readonly string[] | null;
}

/**
 * Access that a route requires of a credential: a scope, or a credential without any option. A key with options cannot
 * create or change keys, because another key would not have its limits.
 */
export type RequiredAccess = KeyScope | 'unrestricted';

/** The part of a caller that says what it may do. */
interface RestrictedCaller {
  keyHash: Buffer | null;
  restrictions?: Restrictions;
}

/** @throws ServiceError insufficient_scope if the credential does not have the access that a route requires. */
export function requireAccess({ keyHash, restrictions }: RestrictedCaller, required: RequiredAccess): void {
  if (restrictions === undefined) return;
  const { scopes } = restrictions;
  const credential = keyHash === null ? 'access token' : 'API key';
  if (required === 'unrestricted')
    throw insufficientScopeError(
      `This ${credential} cannot create or change API keys, because it is restricted. Use an API key without options, or open ${getKeysPage()} in a browser.`,
    );
  if (scopes.has(required)) return;
  const granted = [...scopes].join(' and ');
  const missing = required === 'account' && keyHash === null ? 'access to the whole account' : `the scope ${required}`;
  throw insufficientScopeError(
    `This request requires ${missing}, but this ${credential} has only ${granted}. ${adviseChange(keyHash, required)}`,
  );
}

/** @throws ServiceError insufficient_scope if the credential may not use a model. */
export function requireAllowedModel({ restrictions }: RestrictedCaller, model: string): void {
  const allowed = restrictions?.allowedModels ?? null;
  if (allowed === null || allowed.includes(model)) return;
  throw insufficientScopeError(
    `This API key may not use ${model}, only ${listBriefly(allowed)}. Choose one of these, or open ${getKeysPage()} to change the key.`,
  );
}

/** @throws ServiceError insufficient_scope if the credential may not be used from the address of the client. */
export function requireAllowedAddress({ restrictions }: RestrictedCaller, address: string): void {
  const allowed = restrictions?.allowedIps ?? null;
  if (allowed === null || isInIpRanges(allowed, address)) return;
  throw insufficientScopeError(
    `This API key may not be used from ${address} because it allows other addresses only. Open ${getKeysPage()} to add this one.`,
  );
}

function adviseChange(keyHash: Buffer | null, required: RequiredAccess): string {
  if (keyHash !== null) return `Use another API key, or open ${getKeysPage()} to change this one.`;
  return required === 'account'
    ? `Use an API key, or open ${config.BASE_URL}/account/ in a browser.`
    : 'Connect again and allow it.';
}

const getKeysPage = () => `${config.BASE_URL}/account/keys/`;

function insufficientScopeError(detail: string): ServiceError {
  return new ServiceError('insufficient_scope', detail);
}
