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

/** One create request in the charge statement. */
export interface Debit extends Omit<CreateInput, 'max_credits'> {
  uuid: string;
  account_id: number;
  key_hash: string | null;
  /** Version of the key's options that the request was admitted with. */
  key_version: number;
  /** Hash of the session cookie in hexadecimal digits, if that is the credential. */
  session_hash?: string;
  /** Application whose access token was sent. */
  oauth_client_id: string | null;
  /** Grant of that token. */
  grant_uuid?: string;
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
  /** Spending limits or API keys of the account changed during each attempt: nothing was charged. */
  | 'credentials_changing'
  /** The response of the database was lost: the statement may have been committed, or may still be. */
  | 'unknown';

/** A decision against the request, whose reason the client receives. */
export type Rejection = Exclude<
  ChargeOutcome,
  'accepted' | 'replayed' | 'unknown' | 'input_unavailable' | 'credentials_changing'
>;
