import { DAY_MS, HOUR_MS, MINUTE_MS } from './durations.ts';

/**
 * Numbers of the specification's Limits table and of docs/decisions.md. Each is defined once. How long rows of a
 * subject are kept is in the `feature.ts` of the subject; limits of the catalog are in `catalog.ts`.
 */

export const PAGE_SIZE = 20;
/** Number of matching items that a filtered list counts and shows; older ones need narrower filters. */
export const FILTERED_ITEMS_MAX = 10_000;

/** Longest prompt in Unicode characters, after trimming. */
export const PROMPT_MAX_CHARACTERS = 2_500;

/** Metadata of a generation: pairs of strings, and the pairs by which a list can be filtered at once. */
export const METADATA_PAIRS_MAX = 16;
export const METADATA_KEY_MAX_CHARACTERS = 40;
export const METADATA_VALUE_MAX_CHARACTERS = 500;
export const METADATA_FILTERS_MAX = 3;

export const API_KEY_NAME_MAX_CHARACTERS = 64;
export const ACTIVE_API_KEYS_MAX = 20;

/** Members of an account at a time. */
export const MEMBERS_MAX = 100;
/**
 * Days for which an invitation can be accepted, messages for one and to an address within a day, and invitations of an
 * account within a day.
 */
export const INVITATION_DAYS = 7;
export const INVITATION_SENDS_MAX = 5;
export const INVITATIONS_PER_DAY = 50;
/** Maximum number of models and of addresses that an API key may be restricted to. */
export const API_KEY_OPTION_ITEMS_MAX = 50;
export const API_KEY_PREFIX_CHARACTERS = 12;
export const API_KEY_LAST_USED_INTERVAL_MS = MINUTE_MS;

/** Largest spending limit of a key or an application. */
export const SPENDING_LIMIT_MAX_CREDITS = 1_000_000_000;

export const PROFILE_TEXT_MAX_CHARACTERS = 200;

export const SESSION_DAYS = 30;
/** A session ends after this time without use. */
export const SESSION_IDLE_DAYS = 7;
export const SESSION_LAST_USED_INTERVAL_MS = MINUTE_MS;
/** Changes of credentials require a sign-in within this time. */
export const RECENT_SIGN_IN_MINUTES = 15;
/**
 * Time for which the removal of a sign-in method can be undone. A method that was linked later than that opens sessions
 * that cannot change credentials, unless it is the only one.
 */
export const IDENTITY_UNDO_DAYS = 7;
/** Time limit for the user at the sign-in provider. */
export const SIGN_IN_ATTEMPT_MS = 10 * MINUTE_MS;

/** Input images (docs/input-images.md). */
export const IMAGE_MAX_BYTES = 20_000_000;
/** Bytes of the images of a generation together. */
export const INPUT_IMAGES_MAX_BYTES = 30_000_000;
export const DATA_URL_MAX_BYTES = 5_000_000;
export const IMAGE_URL_MAX_CHARACTERS = 2_000;
/** Time for which an upload is kept after its last use, and in total. A generation may keep it longer. */
export const UPLOAD_RETENTION_MS = DAY_MS;
export const UPLOAD_MAX_AGE_MS = 2 * DAY_MS;
/** Time within which the file of an upload must be sent. */
export const UPLOAD_ADDRESS_MS = HOUR_MS;
/** Time limit for the file of an upload to disk: 20 MB need 35 KB a second. */
export const UPLOAD_TIME_LIMIT_MS = 10 * MINUTE_MS;
/** Bytes that must arrive within each such time until then. */
export const UPLOAD_PACE = { bytes: 200_000, ms: 20_000 } as const;
/** Maximum number of an account's images of 24 hours that no generation keeps, and the sum of their bytes. */
export const UNUSED_UPLOADS_MAX = 200;
export const UNUSED_UPLOADS_MAX_BYTES = 1_000_000_000;

/** Webhooks (docs/webhooks.md). */
export const WEBHOOK_ENDPOINTS_MAX = 10;
export const WEBHOOK_URL_MAX_CHARACTERS = 2_000;
export const WEBHOOK_DESCRIPTION_MAX_CHARACTERS = 200;
/** Time for which the keys before a rotation sign as well. */
export const PREVIOUS_WEBHOOK_KEYS_MS = DAY_MS;

/** Minimum interval between two polls of a generation's upstream, across all processes. */
export const REFRESH_INTERVAL_MS = 2_000;
/** Time for which a read waits for the refresh that it requested. */
export const REFRESH_WAIT_MS = 1_000;

export const GENERATION_DEADLINE_MS = { video: 30 * MINUTE_MS, image: 10 * MINUTE_MS } as const;

/** Number of further submits after one whose outcome is unknown. */
export const UNCONFIRMED_SUBMITS_MAX = 1;

/** Minimum time for which an idempotency key returns its first response. */
export const IDEMPOTENCY_KEY_RETENTION_MS = DAY_MS;
export const IDEMPOTENCY_KEY_MAX_CHARACTERS = 255;

/** Longest time that a read may wait for the end of a generation. */
export const WAIT_MAX_SECONDS = 45;

/** A model counts as offline after this time without a probe: no worker is running. */
export const PROBE_STALE_MS = 45_000;
export const FAILED_PROBES_TO_DEGRADE = 1;
export const FAILED_PROBES_TO_OFFLINE = 3;
export const GOOD_PROBES_TO_ONLINE = 2;

/** Manual and automatic top-ups (spec: Limits; docs/decisions.md: Billing). */
export const TOPUP_MIN_CENTS = 5_000;
export const TOPUP_MAX_CENTS = 1_000_000;
/** Minimum interval between two automatic top-ups of an account. */
export const AUTO_TOPUP_INTERVAL_MS = HOUR_MS;
/** Maximum number of unpaid top-ups of an account. */
export const OPEN_TOPUPS_MAX = 10;
/** Number of consecutive declined automatic top-ups that disables them. */
export const AUTO_TOPUP_DECLINES_MAX = 3;
/** A balance is low below this part of the credits granted for the month, unless the owner sets a threshold. */
export const LOW_CREDITS_DIVISOR = 10;
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
/** Maximum size of a create whose model takes images: a data URL encodes three bytes in four characters. */
export const IMAGE_BODY_LIMIT_BYTES = 8 * 1024 * 1024;
/** Levels of lists and objects, and values, in JSON of others that is longer than BODY_LIMIT_BYTES. */
export const JSON_DEPTH_MAX = 32;
export const JSON_VALUES_MAX = 10_000;
/**
 * Complete bodies larger than BODY_LIMIT_BYTES that a process holds. Each takes up to three times its size in memory.
 */
export const LARGE_BODIES_MAX = 8;
/** Their total size: four of the largest, and small ones. With the decoder, a process fits into 512 MB. */
export const LARGE_BODIES_MAX_BYTES = 36_000_000;
/** Such bodies that are still arriving at a process, and their total size: six of the largest, and small ones. */
export const ARRIVING_BODIES_MAX = 16;
export const ARRIVING_BODIES_MAX_BYTES = 52_000_000;
/** Such bodies of an account in a process, complete or arriving. */
export const LARGE_BODIES_OF_ACCOUNT_MAX = 3;

/** Lifetimes of OAuth (docs/decisions.md: OAuth). */
export const AUTHORIZATION_CODE_SECONDS = 60;
export const ACCESS_TOKEN_SECONDS = 3_600;
export const REFRESH_TOKEN_DAYS = 30;
/** Grace period after the first use of a refresh token, for concurrent requests with the same token. */
export const REFRESH_GRACE_SECONDS = 60;
/** Clients that were never approved are deleted after the first time, all others after the second without use. */
export const UNAPPROVED_CLIENT_RETENTION_MS = DAY_MS;
export const INACTIVE_CLIENT_RETENTION_MS = 90 * DAY_MS;
/**
 * Time after its expiry for which the last version of a client's metadata document is used if its host is unavailable.
 */
export const UNAVAILABLE_DOCUMENT_MAX_MS = 30 * DAY_MS;
/** Maximum number of clients that were never approved. The oldest are deleted, because registration is public. */
export const UNAPPROVED_CLIENTS_MAX = 10_000;

/** An MCP session ends after this time without use (docs/mcp.md). */
export const MCP_SESSION_IDLE_MS = DAY_MS;
/** Retention time and maximum number of a session's events, for clients that reconnect. */
export const MCP_EVENT_RETENTION_MS = HOUR_MS;
export const MCP_EVENTS_MAX = 256;
/** Default wait of the `get_generation` tool. */
export const MCP_DEFAULT_WAIT_SECONDS = 20;
