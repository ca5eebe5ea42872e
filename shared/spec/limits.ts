/** The numbers of the specification's Limits table and of docs/decisions.md, each written once. */

export const PAGE_SIZE = 20;

/** Longest prompt in Unicode characters, after trimming. */
export const PROMPT_MAX_CHARACTERS = 2_500;

export const API_KEY_NAME_MAX_CHARACTERS = 64;
export const ACTIVE_API_KEYS_MAX = 20;
export const API_KEY_PREFIX_CHARACTERS = 12;
export const API_KEY_LAST_USED_INTERVAL_MS = 60_000;

export const PROFILE_TEXT_MAX_CHARACTERS = 200;

export const SESSION_DAYS = 30;
/** A session that is not used for so long is over. */
export const SESSION_IDLE_DAYS = 7;
export const SESSION_LAST_USED_INTERVAL_MS = 60_000;
/** Of what a browser calls itself, so much is kept. */
export const USER_AGENT_MAX_CHARACTERS = 300;
/** How long a person may take at the provider that they sign in with. */
export const SIGN_IN_ATTEMPT_MS = 10 * 60_000;

/** At most one look at a job's upstream in this time, over all processes. */
export const REFRESH_INTERVAL_MS = 2_000;
/** How long a read waits for the refresh that it asked for. */
export const REFRESH_WAIT_MS = 1_000;

export const GENERATION_DEADLINE_MS = { video: 30 * 60_000, image: 10 * 60_000 } as const;

/** A submit whose outcome is unknown may be followed by this many more. */
export const UNCONFIRMED_SUBMITS_MAX = 1;

/** Prompt, parameters and error of a deleted generation are purged so many days after the deletion. */
export const DELETED_PROMPT_RETENTION_DAYS = 30;
/** How long browsers and CDNs may keep an output: for so long a deleted one may still be served by them. */
export const MEDIA_CACHE_SECONDS = 86_400;

/** When what a failed job may have left in the storage is removed: far longer than a collection can be under way. */
export const ORPHANED_MEDIA_DELAY_MS = 15 * 60_000;

/** For so long at least an idempotency key answers for the order that it came with. */
export const IDEMPOTENCY_KEY_RETENTION_MS = 24 * 3_600_000;
export const IDEMPOTENCY_KEY_MAX_CHARACTERS = 255;

/** The longest that a read may wait for the end of a generation. */
export const WAIT_MAX_SECONDS = 45;

/** A model of which no probe was recorded for so long counts as offline: no worker lives. */
export const PROBE_STALE_MS = 45_000;
/** How long an upstream is left alone that turned us away for our account's sake. */
export const CIRCUIT_OPEN_MS = 30_000;
export const FAILED_PROBES_TO_DEGRADE = 1;
export const FAILED_PROBES_TO_OFFLINE = 3;
export const GOOD_PROBES_TO_ONLINE = 2;

/** Manual and automatic top-ups (spec: Limits; docs/decisions.md: Billing). */
export const TOPUP_MIN_CENTS = 5_000;
export const TOPUP_MAX_CENTS = 1_000_000;
/** At most one automatic top-up an account in this time. */
export const AUTO_TOPUP_INTERVAL_MS = 3_600_000;
/** Top-ups of an account that wait to be paid at a time. */
export const OPEN_TOPUPS_MAX = 10;
/** So many declined automatic top-ups in a row switch them off. */
export const AUTO_TOPUP_DECLINES_MAX = 3;
/** How long a subscription whose renewal is not paid may still be spent under. */
export const PAST_DUE_GRACE_DAYS = 14;

/** The affiliate program (spec: What the service does; docs/decisions.md: Affiliates). */
export const COMMISSION_PERCENT = 30;
/** A link that was followed longer ago than this before the sign-up does not count. */
export const REFERRAL_WINDOW_DAYS = 30;
/** A commission waits for so long before it is payable. */
export const COMMISSION_PENDING_DAYS = 30;
/** How many months an affiliate's status lists, the current one included. */
export const AFFILIATE_STATUS_MONTHS = 12;

export const USAGE_HISTORY_DAYS = 30;
/** Staff metrics are of so many UTC days, today included (docs/metrics.md). */
export const METRIC_DAYS = 30;

/** Largest JSON body; a prompt of the longest kind, escaped, fits many times over. */
export const BODY_LIMIT_BYTES = 64 * 1024;

/** Lifetimes of OAuth (docs/decisions.md: OAuth). */
export const AUTHORIZATION_CODE_SECONDS = 60;
export const ACCESS_TOKEN_SECONDS = 3_600;
export const REFRESH_TOKEN_DAYS = 30;
/** So long after its first use a refresh token still gives new ones, to whoever asked at the same time. */
export const REFRESH_GRACE_SECONDS = 60;
/** A new signing key is published for so long before it signs, so that everybody has it by then. */
export const SIGNING_KEY_ACTIVATION_DELAY_MS = 10 * 60_000;
/** Clients that registered and were never approved are forgotten after this time, others after this much disuse. */
export const UNAPPROVED_CLIENT_RETENTION_MS = 24 * 3_600_000;
export const INACTIVE_CLIENT_RETENTION_MS = 90 * 24 * 3_600_000;
/** Of those that nobody has approved so many are kept, the newest: anybody can register. */
export const UNAPPROVED_CLIENTS_MAX = 10_000;
/** Not counted among those: registrations younger than this, and those that a person was asked about in this time. */
export const NEW_CLIENT_GRACE_MS = 5 * 60_000;
export const APPROVAL_REQUEST_GRACE_MS = 3_600_000;
/** How long it is remembered that a code was used, so that its replay is known for one. */
export const USED_CODE_RETENTION_MS = 24 * 3_600_000;

export const CLIENT_NAME_MAX_CHARACTERS = 100;
export const REDIRECT_URIS_MAX = 10;
export const REDIRECT_URI_MAX_CHARACTERS = 1_000;
export const CLIENT_ID_MAX_CHARACTERS = 1_000;
/** Largest registration, and largest form of an OAuth endpoint. */
export const OAUTH_BODY_LIMIT_BYTES = 16 * 1024;
/** Largest Client ID Metadata Document, and how long it may take to come. */
export const CLIENT_DOCUMENT_MAX_BYTES = 5 * 1024;
export const CLIENT_DOCUMENT_TIMEOUT_MS = 5_000;
/** A document is kept for as long as its headers say, within these bounds. */
export const CLIENT_DOCUMENT_CACHE_MS = { min: 5 * 60_000, fallback: 3_600_000, max: 24 * 3_600_000 } as const;

/** An MCP session that is not used for so long is over (docs/mcp.md). */
export const MCP_SESSION_IDLE_MS = 24 * 3_600_000;
/** What a session has to be told is kept for so long, and so many messages of it, for a client that comes back. */
export const MCP_EVENT_RETENTION_MS = 3_600_000;
export const MCP_EVENTS_MAX = 256;
/** Sessions of an account that are kept, the newest; and event streams that a process serves it at a time. */
export const MCP_SESSIONS_PER_ACCOUNT = 1_000;
export const MCP_STREAMS_PER_ACCOUNT = 32;
/** How often an event stream shows that it is alive, and looks whether its credentials still are. */
export const MCP_KEEP_ALIVE_MS = 15_000;
/** How long `get_generation` waits where the model does not say. */
export const MCP_DEFAULT_WAIT_SECONDS = 20;
