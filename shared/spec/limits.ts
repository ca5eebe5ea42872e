/** Numbers of the specification's Limits table and of docs/decisions.md. Each is defined once. */

export const PAGE_SIZE = 20;

/** Longest prompt in Unicode characters, after trimming. */
export const PROMPT_MAX_CHARACTERS = 2_500;

export const API_KEY_NAME_MAX_CHARACTERS = 64;
export const ACTIVE_API_KEYS_MAX = 20;
export const API_KEY_PREFIX_CHARACTERS = 12;
export const API_KEY_LAST_USED_INTERVAL_MS = 60_000;

export const PROFILE_TEXT_MAX_CHARACTERS = 200;

export const SESSION_DAYS = 30;
/** A session ends after this time without use. */
export const SESSION_IDLE_DAYS = 7;
export const SESSION_LAST_USED_INTERVAL_MS = 60_000;
/** Stored `User-Agent` values are truncated to this length. */
export const USER_AGENT_MAX_CHARACTERS = 300;
/** Time limit for the user at the sign-in provider. */
export const SIGN_IN_ATTEMPT_MS = 10 * 60_000;

/** Minimum interval between two polls of a generation's upstream, across all processes. */
export const REFRESH_INTERVAL_MS = 2_000;
/** Time for which a read waits for the refresh that it requested. */
export const REFRESH_WAIT_MS = 1_000;

export const GENERATION_DEADLINE_MS = { video: 30 * 60_000, image: 10 * 60_000 } as const;

/** Number of further submits after one whose outcome is unknown. */
export const UNCONFIRMED_SUBMITS_MAX = 1;

/** Days after a deletion until prompt, parameters and error of the generation are purged. */
export const DELETED_PROMPT_RETENTION_DAYS = 30;
/** Time for which browsers and CDNs may cache an output, and may still serve a deleted one. */
export const MEDIA_CACHE_SECONDS = 86_400;

/** Delay before files of a failed generation are deleted from storage. Far longer than a download can take. */
export const ORPHANED_MEDIA_DELAY_MS = 15 * 60_000;

/** Minimum time for which an idempotency key returns its first response. */
export const IDEMPOTENCY_KEY_RETENTION_MS = 24 * 3_600_000;
export const IDEMPOTENCY_KEY_MAX_CHARACTERS = 255;

/** Longest time that a read may wait for the end of a generation. */
export const WAIT_MAX_SECONDS = 45;

/** A model counts as offline after this time without a probe: no worker is running. */
export const PROBE_STALE_MS = 45_000;
/** Time for which the circuit of an upstream stays open after an account error. */
export const CIRCUIT_OPEN_MS = 30_000;
export const FAILED_PROBES_TO_DEGRADE = 1;
export const FAILED_PROBES_TO_OFFLINE = 3;
export const GOOD_PROBES_TO_ONLINE = 2;

/** Manual and automatic top-ups (spec: Limits; docs/decisions.md: Billing). */
export const TOPUP_MIN_CENTS = 5_000;
export const TOPUP_MAX_CENTS = 1_000_000;
/** Minimum interval between two automatic top-ups of an account. */
export const AUTO_TOPUP_INTERVAL_MS = 3_600_000;
/** Maximum number of unpaid top-ups of an account. */
export const OPEN_TOPUPS_MAX = 10;
/** Number of consecutive declined automatic top-ups that disables them. */
export const AUTO_TOPUP_DECLINES_MAX = 3;
/** Days for which credits can be spent while the renewal payment of a subscription is overdue. */
export const PAST_DUE_GRACE_DAYS = 14;

/** The affiliate program (spec: What the service does; docs/decisions.md: Affiliates). */
export const COMMISSION_PERCENT = 30;
/** A referral click counts for sign-ups within this time. */
export const REFERRAL_WINDOW_DAYS = 30;
/** Days until a commission becomes payable. */
export const COMMISSION_PENDING_DAYS = 30;
/** Number of months in an affiliate's status, including the current one. */
export const AFFILIATE_STATUS_MONTHS = 12;

export const USAGE_HISTORY_DAYS = 30;
/** Number of UTC days in the staff metrics, including today (docs/metrics.md). */
export const METRIC_DAYS = 30;

/** Maximum size of a JSON body, many times that of the longest escaped prompt. */
export const BODY_LIMIT_BYTES = 64 * 1024;

/** Lifetimes of OAuth (docs/decisions.md: OAuth). */
export const AUTHORIZATION_CODE_SECONDS = 60;
export const ACCESS_TOKEN_SECONDS = 3_600;
export const REFRESH_TOKEN_DAYS = 30;
/** Grace period after the first use of a refresh token, for concurrent requests with the same token. */
export const REFRESH_GRACE_SECONDS = 60;
/** Time between publication and first use of a signing key, so that all verifiers have fetched it. */
export const SIGNING_KEY_ACTIVATION_DELAY_MS = 10 * 60_000;
/** Clients that were never approved are deleted after the first time, all others after the second without use. */
export const UNAPPROVED_CLIENT_RETENTION_MS = 24 * 3_600_000;
export const INACTIVE_CLIENT_RETENTION_MS = 90 * 24 * 3_600_000;
/** Maximum number of clients that were never approved. The oldest are deleted, because registration is public. */
export const UNAPPROVED_CLIENTS_MAX = 10_000;
/** Grace periods during which unapproved clients are not deleted: after registration, and after a consent page. */
export const NEW_CLIENT_GRACE_MS = 5 * 60_000;
export const APPROVAL_REQUEST_GRACE_MS = 3_600_000;
/** Retention of used authorization codes, so that a replay is detected. */
export const USED_CODE_RETENTION_MS = 24 * 3_600_000;

export const CLIENT_NAME_MAX_CHARACTERS = 100;
export const REDIRECT_URIS_MAX = 10;
export const REDIRECT_URI_MAX_CHARACTERS = 1_000;
export const CLIENT_ID_MAX_CHARACTERS = 1_000;
/** Maximum size of a registration and of a form at an OAuth endpoint. */
export const OAUTH_BODY_LIMIT_BYTES = 16 * 1024;
/** Maximum size of a Client ID Metadata Document, and the time limit for its download. */
export const CLIENT_DOCUMENT_MAX_BYTES = 5 * 1024;
export const CLIENT_DOCUMENT_TIMEOUT_MS = 5_000;
/** Bounds for the cache lifetime in the headers of a document. */
export const CLIENT_DOCUMENT_CACHE_MS = { min: 5 * 60_000, fallback: 3_600_000, max: 24 * 3_600_000 } as const;

/** An MCP session ends after this time without use (docs/mcp.md). */
export const MCP_SESSION_IDLE_MS = 24 * 3_600_000;
/** Retention time and maximum number of a session's events, for clients that reconnect. */
export const MCP_EVENT_RETENTION_MS = 3_600_000;
export const MCP_EVENTS_MAX = 256;
/** Maximum number of sessions per account (the newest are kept), and of event streams per account and process. */
export const MCP_SESSIONS_PER_ACCOUNT = 1_000;
export const MCP_STREAMS_PER_ACCOUNT = 32;
/** Interval of keep-alive messages on an event stream, and of checks that its credentials are still valid. */
export const MCP_KEEP_ALIVE_MS = 15_000;
/** Default wait of the `get_generation` tool. */
export const MCP_DEFAULT_WAIT_SECONDS = 20;
