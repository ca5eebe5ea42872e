import type { Caller } from '../accounts/accounts.ts';
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
export const describeCredential = (caller: Caller) => ({
  account_id: caller.accountId,
  key_hash: caller.keyHash?.toString('hex') ?? null,
  /** Version of the key's options that the request was admitted with. */
  key_version: caller.keyVersion ?? 0,
  /** Hash of the session cookie, if that is the credential. */
  session_hash: caller.sessionHash?.toString('hex'),
  /** Application whose access token was sent. */
  oauth_client_id: caller.clientId,
  /** Grant of that token. */
  grant_uuid: caller.grantUuid,
});

/** One create request in the call of the charge function. */
export interface Debit extends Omit<CreateInput, 'max_credits'>, ReturnType<typeof describeCredential> {
  uuid: string;
  credits: number;
  /** True if it is of a test account. */
  is_test: boolean;
  created_at: Date;
  deadline_at: Date;
  /** Release of the catalog that the price is from; null for the default models. */
  catalog_id: number | null;
  idempotency_key: string | null;
  /** Images that the generation takes, if any. */
  inputs?: readonly GenerationInput[];
}

/** The decision about one create request. */
export type ChargeOutcome =
  | 'accepted'
  | 'replayed'
  | 'invalid_api_key'
  | 'account_suspended'
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
