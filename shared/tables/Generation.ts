import { Model } from 'objection';
import type { GenerationParams, ModelSlug } from '../spec/catalog.ts';
import type { GenerationStatus } from '../spec/states.ts';

/** One job, from the moment it is charged. */
export class Generation extends Model {
  static override tableName = 'generations';
  static override idColumn = 'uuid';

  /** Version 7, made by the process that took the request. */
  declare uuid: string;
  declare account_id: number;
  /** The how-manieth generation of its account, from 1, without gaps. */
  declare number: number;
  declare model: ModelSlug;
  declare prompt: string;
  declare params: GenerationParams;
  declare status: GenerationStatus;
  declare credits_charged: number;
  /** The part of credits_charged that came from the plan bucket, and goes back there on a refund. */
  declare plan_credits_charged: number;
  declare created_at: Date;
  /** When it is failed and refunded if it has not ended. */
  declare deadline_at: Date;

  declare completed_at: Date | null;
  /** Relative to CDN_URL, like thumbnail_path. */
  declare output_path: string | null;
  declare thumbnail_path: string | null;
  declare is_watermarked: boolean;
  declare error_message: string | null;
  declare deleted_at: Date | null;
  /** When prompt, params and error were emptied, some time after the deletion. */
  declare purged_at: Date | null;

  /** When the sweep rings again, unless something has happened by then. */
  declare next_attempt_at: Date;
  /** No worker takes it for submitting before this time. */
  declare leased_until: Date | null;
  /** Set while a submit is under way: found set by the next worker, it means that the outcome is unknown. */
  declare submit_started_at: Date | null;
  declare unconfirmed_submits: number;
  /** How the upstream that accepted it knows it. */
  declare upstream_handle: Record<string, unknown> | null;
  /** The last look at the upstream, by anyone. */
  declare polled_at: Date | null;
  /** When the poll that was rung for is due. */
  declare next_poll_at: Date | null;
  /** The unguessable part of its files' paths. */
  declare media_token: string | null;
  /** Who was last asked to make it, and by which of their models. */
  declare upstream: string | null;
  declare upstream_model: string | null;
  /** What the finished run cost us; a decimal, since it may be a fraction of a cent. */
  declare provider_cost_cents: string | null;
  /** Of the request that created it, for as long as that may be repeated. */
  declare idempotency_key: string | null;
}
