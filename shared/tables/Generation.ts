import { Model } from 'objection';
import type { GenerationParams, ModelSlug } from '../spec/catalog.ts';
import type { GenerationStatus } from '../spec/states.ts';

/** A file of a generation, and its preview. */
export type GenerationFile = { output_path: string; thumbnail_path: string | null };

/** One image or video, from its charge to its end. */
export class Generation extends Model {
  static override tableName = 'generations';
  static override idColumn = ['uuid', 'account_id'];

  /** UUID version 7, created by the process that received the request. */
  declare uuid: string;
  declare account_id: number;
  /** True if it belongs to a test account: it costs nothing, and the test upstream runs it. */
  declare is_test: boolean;
  /** Sequence number within the account, from 1, without gaps. */
  declare number: number;
  declare model: ModelSlug;
  declare prompt: string;
  declare params: GenerationParams;
  declare status: GenerationStatus;
  declare credits_charged: number;
  /** Part of credits_charged that came from the plan bucket, and returns there on a refund. */
  declare plan_credits_charged: number;
  declare created_at: Date;
  /** Time at which it fails and is refunded if it has not ended. */
  declare deadline_at: Date;

  declare completed_at: Date | null;
  /** Relative to CDN_URL, like thumbnail_path. */
  declare output_path: string | null;
  declare thumbnail_path: string | null;
  /** Files after the first one; null if there is one. */
  declare more_outputs: GenerationFile[] | null;
  declare is_watermarked: boolean;
  declare error_message: string | null;
  declare deleted_at: Date | null;
  /** Time at which staff refunded it after it had succeeded. A failed generation is refunded without it. */
  declare refunded_at: Date | null;
  /** Time at which prompt, params and error were emptied after the deletion. */
  declare purged_at: Date | null;

  /** Time at which the sweep enqueues the next step again, unless it has happened before. */
  declare next_attempt_at: Date;
  /** End of the lease of the worker that submits it, or collects its output. No other worker claims it before. */
  declare leased_until: Date | null;
  /** Set while a submit is in progress. If the next claim finds it set, the outcome of that submit is unknown. */
  declare submit_started_at: Date | null;
  /** Start of the submit that the upstream accepted. */
  declare submitted_at: Date | null;
  /** Number of submits of unknown outcome. */
  declare unconfirmed_submits: number;
  /** Positions of the model's upstreams, in the order in which they are tried; null for that of the catalog. */
  declare upstream_order: number[] | null;
  /** Time at which a run failed and another upstream was tried. */
  declare failed_over_at: Date | null;
  /** First time at which an upstream rejected our account instead of it. */
  declare account_error_at: Date | null;
  /** Identifies it at the upstream that accepted it. */
  declare upstream_handle: Record<string, unknown> | null;
  /** Result of its run, from the end of that at the upstream until it has ended here. */
  declare upstream_output: {
    state: 'succeeded';
    outputs: [{ url: string }, ...{ url: string }[]];
    filtered?: number;
    isWatermarked: boolean;
    costCents?: number;
    /** Time in ISO 8601 from which the addresses are not valid. */
    expiresAt?: string;
  } | null;
  /** Time of the last poll of the upstream. */
  declare polled_at: Date | null;
  /** Time at which the enqueued poll is due. */
  declare next_poll_at: Date | null;
  /** Secret part of its files' paths. */
  declare media_token: string | null;
  /** Upstream and model of the last submit. Set whenever upstream_handle is. */
  declare upstream: string | null;
  declare upstream_model: string | null;
  /** Cost of the completed run for us: a decimal, because it may be a fraction of a cent. */
  declare provider_cost_cents: string | null;
  /** Idempotency-Key of the request that created it, until it expires. */
  declare idempotency_key: string | null;
  /** The member who created it; null for the service. */
  declare member_number: number | null;
  /** Number of the API key that created it; null for a session or an assistant. */
  declare api_key_number: number | null;
  /** Application that created it with an access token; null for a key or a session. */
  declare oauth_client_id: string | null;
  /** Address that receives the event of its end, beside the endpoints of the account. */
  declare webhook_url: string | null;
  /** Pairs of strings that its owner has attached. */
  declare metadata: Readonly<Record<string, string>> | null;
  /** Time at which its owner first asked to cancel it. It may still succeed. */
  declare cancel_requested_at: Date | null;
  /** Release of the catalog that it was priced by and is run by; null for the default models. */
  declare catalog_id: number | null;
}
