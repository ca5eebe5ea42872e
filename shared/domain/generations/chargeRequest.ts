import { getModelBySlug } from '../../lib/catalog/catalog.ts';
import { parseClientAddress } from '../../lib/ipRanges.ts';
import type { Caller } from '../accounts/caller.ts';
import type { GenerationInput } from '../uploads/prepareInputs.ts';
import type { GenerationParams, ModelSlug } from '../../spec/catalog.ts';

/** A validated request to create a generation, with defaults applied. */
export interface CreateInput {
  model: ModelSlug;
  prompt: string;
  params: GenerationParams;
  /** Address that receives the event of its end. */
  webhook_url?: string;
  /** Pairs of strings that are returned with the generation; at least one. */
  metadata?: Readonly<Record<string, string>>;
  /** Largest price that the client accepts. */
  max_credits?: number;
}

/** Account and credential of a request, in the form of the functions that decide about it. */
interface ChargeCredential {
  account_id: number;
  member_number?: number;
  /** Hash of the API key in hexadecimal digits, and the address of the client, by which a key may be restricted. */
  key_hash?: string;
  address?: string;
  session_hash?: string;
  /** Grant of an access token, and its application. */
  grant_uuid?: string;
  oauth_client_id?: string;
}

export function describeCredential({ accountId, credential, member }: Caller): ChargeCredential {
  const made = { account_id: accountId, ...(member === undefined ? {} : { member_number: member.number }) };
  switch (credential.kind) {
    case 'key': {
      const address = parseClientAddress(credential.address)?.toString();
      return { ...made, key_hash: credential.hash.toString('hex'), ...(address === undefined ? {} : { address }) };
    }
    case 'session':
      return { ...made, session_hash: credential.hash.toString('hex') };
    case 'token':
      return { ...made, grant_uuid: credential.grantUuid, oauth_client_id: credential.clientId };
    case 'service':
      return made;
  }
}

/** Returns the price of a request in credits. Test accounts pay nothing. */
export function priceRequest(
  { isTest }: Pick<Caller, 'isTest'>,
  { model, params }: Pick<CreateInput, 'model' | 'params'>,
): number {
  return isTest === true ? 0 : getModelBySlug(model).price(params);
}

/** One create request in the call of the charge function. */
export interface ChargeRequest extends Omit<CreateInput, 'max_credits'>, ChargeCredential {
  uuid: string;
  credits: number;
  /** True if it is of a test account. */
  is_test: boolean;
  created_at: Date;
  deadline_at: Date;
  /** Release of the catalog that the price is from; null for the default models. */
  catalog_id: number | null;
  idempotency_key: string | null;
  /** Positions of the model's upstreams, in the order in which they are tried. Absent: that of the catalog. */
  upstream_order?: number[];
  /** Images that the generation takes, if any. */
  inputs?: readonly GenerationInput[];
}

/** The decision about one create request. */
export type ChargeOutcome =
  | 'accepted'
  | 'replayed'
  | 'invalid_api_key'
  | 'account_suspended'
  /** The key was restricted meanwhile. */
  | 'insufficient_scope'
  /** The member got a role meanwhile that may not create generations. */
  | 'role_changed'
  /** An image was deleted after it was prepared. */
  | 'input_unavailable'
  | 'subscription_required'
  | 'model_unavailable'
  | 'parallel_limit_reached'
  | 'spending_limit_reached'
  | 'insufficient_credits'
  /** The response of the database was lost: the statement may have been committed, or may still be. */
  | 'unknown';

/** A decision against the request, whose reason the client receives. */
export type Rejection = Exclude<ChargeOutcome, 'accepted' | 'replayed' | 'unknown' | 'input_unavailable'>;
