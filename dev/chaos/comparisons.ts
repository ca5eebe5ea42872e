import { CLOCK_SKEW_INTERVAL } from '../../shared/domain/invariant.ts';
import { CALLBACK_ONLY } from './randomCallbacks.ts';

/** Compares rows of the journal and of the database. */
export interface Comparison {
  from: string;
  /** Expressions for the id of the account, and for what a violation is about. */
  account: string;
  subject: string;
  /** Rows of a rule, a condition that violates it, and a detail. */
  rules: string;
}

/**
 * Relations of the journal with their columns. Times without a type of their own are milliseconds, as of `Date.now`.
 */
export const JOURNAL_RELATIONS = {
  seen_accounts: 'uuid uuid, email text',
  seen_creates: `prompt text, "accountUuid" uuid, sent int, rejected int, "isStale" boolean, "clientId" text,
    "hasImage" boolean, "isForbidden" boolean, "pricesByCatalog" jsonb`,
  seen_generations: `uuid uuid, "accountUuid" uuid, surface text, prompt text, model text, credits int, final jsonb,
    "cancelRequestedAt" float8, "deleteRequestedAt" float8, "deletedAt" float8`,
  seen_keys: 'uuid uuid, key text, "accountUuid" uuid, "revokeRequestedAt" float8, "revokedAt" float8',
  paid_topups: '"accountUuid" uuid, "sessionId" text, "amountCents" int, at float8, "isAwaited" boolean',
  paid_plans: '"accountUuid" uuid, plan text, "subscriptionId" text',
  staff_adjustments: '"accountUuid" uuid, request text, credits int, "isConfirmed" boolean',
  staff_refunds: 'uuid uuid, "accountUuid" uuid, credits int',
  seen_deletions: `"accountUuid" uuid, email text, "isUndone" boolean, "customerId" text, "acknowledgedAt" timestamptz,
    "stoppedAt" timestamptz`,
  sent_creates: '"accountUuid" uuid, at float8',
  rejected_creates: '"accountUuid" uuid, "respondedAt" float8, prompt text, response text',
  charges: 'id text, customer text, created timestamptz, amount int, refunded int',
  runs: `number int, id text, prompt text, "isCanceled" boolean, "wasSeenWaiting" boolean, "hasStarted" boolean,
    "hasSucceeded" boolean, error text, "hasImage" boolean, detail text`,
  seen_endpoints: `"accountUuid" uuid, uuid uuid, "isConfirmed" boolean, token text, events jsonb, "isEnabled" boolean,
    "isDeleted" boolean`,
  accepted_messages: 'recipient text, id text',
  mails: 'uuid text, recipient text, "isCut" boolean',
  allowed_prompts: 'prompt text',
  second_models: 'catalog text, model text',
  advances: 'at float8, milliseconds float8',
} as const;

const toMs = (time: string): string => `extract(epoch FROM ${time})::float8 * 1000`;

/** A create may be executed this long after it was sent, although its client has given up. */
const CREATE_TIMEOUT_MS = 60_000;
/** Age at which a message is given up, less a tolerance for the clocks of processes. */
const GIVEN_UP_AFTER = `interval '3 days' - interval '5 minutes'`;

/** Comparisons that hold at every moment. */
export const COMPARISONS: readonly Comparison[] = [
  { from: 'chaos.violations v', account: 'v.account', subject: 'v.detail', rules: '(v.rule, true, v.detail)' },
  {
    from: `chaos.prompts p LEFT JOIN generations g ON g.uuid = p.generation
      JOIN journal ON entries ? 'allowed_prompts' LEFT JOIN allowed_prompts a ON a.prompt = p.prompt`,
    account: 'g.account_id',
    subject: 'p.generation',
    rules: `('created-content-was-allowed', a.prompt IS NULL, format('"%s" was not allowed', p.prompt))`,
  },
  {
    // A recorded run is canceled only after its generation has ended, unless the owner has canceled one that waited.
    from: `generations g JOIN runs r ON r.id = g.upstream_handle ->> 'request_id' AND g.status = 'queued'`,
    account: 'g.account_id',
    subject: 'g.uuid',
    rules: `('canceled-runs-were-obsolete', r."isCanceled" AND NOT (g.cancel_requested_at IS NOT NULL AND r."wasSeenWaiting"),
      format('queued, but its run was canceled: %s', r.detail))`,
  },
  {
    from: `(
      SELECT t.account_id, t.uuid, a.uuid AS account_uuid, ${toMs('claimed.at')} AS claimed_at, ${toMs('credited.at')} AS credited_at,
             coalesce(t.needed_credits, a.auto_topup_threshold_credits) AS needed_credits,
             EXISTS (SELECT FROM ledger_entries l
                      WHERE l.account_id = t.account_id AND l.entry_type = 'burn'
                        AND l.balance_after < a.auto_topup_threshold_credits
                        AND l.created_at <= t.created_at + ${CLOCK_SKEW_INTERVAL}
                        AND l.created_at > coalesce((SELECT max(b.created_at) FROM topups b
                                                      WHERE b.account_id = t.account_id AND b.kind = 'automatic'
                                                        AND b.created_at < t.created_at), '-infinity') - ${CLOCK_SKEW_INTERVAL}
                    ) AS has_burn
        FROM topups t JOIN accounts a ON a.id = t.account_id AND t.kind = 'automatic'
        JOIN (SELECT topup, min(at) AS at FROM chaos.topups GROUP BY topup) claimed ON claimed.topup = t.uuid
        LEFT JOIN (SELECT topup, min(at) AS at FROM chaos.topups WHERE status = 'succeeded' GROUP BY topup) credited
               ON credited.topup = t.uuid) t
      LEFT JOIN LATERAL (
        SELECT p."sessionId" AS session FROM paid_topups p JOIN topups m ON m.stripe_session_id = p."sessionId"
          LEFT JOIN chaos.topups c ON c.topup = m.uuid AND c.status = 'succeeded'
         WHERE p."isAwaited" AND p."accountUuid" = t.account_uuid AND p.at <= t.claimed_at AND m.credits >= t.needed_credits
           AND (c.at IS NULL OR ${toMs('c.at')} > t.claimed_at) LIMIT 1) paid ON true
      -- In progress when the rejection was sent: the card was charged for a rejected create.
      LEFT JOIN LATERAL (
        SELECT c.* FROM rejected_creates c
         WHERE c."accountUuid" = t.account_uuid AND t.claimed_at < c."respondedAt" AND c."respondedAt" < t.credited_at
         LIMIT 1) rejected ON true`,
    account: 't.account_id',
    subject: `format('top-up %s', t.uuid)`,
    rules: `
      ('automatic-charges-have-a-cause', NOT t.has_burn AND NOT EXISTS (
         SELECT FROM sent_creates c WHERE c."accountUuid" = t.account_uuid
            AND t.claimed_at BETWEEN c.at AND c.at + ${CREATE_TIMEOUT_MS}), 'neither a burn nor a create'),
      ('no-needless-automatic-charge', paid.session IS NOT NULL,
       format('claimed after the page %s was paid, whose credits cover the need', paid.session)),
      ('no-charge-after-a-rejection', rejected.prompt IS NOT NULL,
       format('claimed %s ms before, and credited %s ms after "%s" was rejected with %s', round(rejected."respondedAt" - t.claimed_at),
              round(t.credited_at - rejected."respondedAt"), rejected.prompt, rejected.response))`,
  },
];

/** Comparisons that hold when all work has settled. */
export const DRAINED_COMPARISONS: readonly Comparison[] = [
  {
    from: 'seen_accounts s LEFT JOIN accounts a ON a.uuid = s.uuid',
    account: 'a.id',
    subject: 's.email',
    rules: `('created-exists', a.email IS DISTINCT FROM s.email, format('has no account %s', s.uuid))`,
  },
  {
    from: `seen_generations s LEFT JOIN accounts a ON a.uuid = s."accountUuid" LEFT JOIN generations g ON g.uuid = s.uuid
      LEFT JOIN chaos.prompts p ON p.generation = g.uuid`,
    account: 'a.id',
    subject: 's.uuid',
    rules: `
      ('created-exists', g.uuid IS NULL, format('was created with 201 through %s, and is not in the database', s.surface)),
      ('created-exists', g.uuid IS NOT NULL AND (a.id, s.model, s.prompt, s.credits)
         IS DISTINCT FROM (g.account_id, g.model, p.prompt, g.credits_charged),
       format('was %s in a response and is %s', (a.id, s.model, s.prompt, s.credits),
              (g.account_id, g.model, p.prompt, g.credits_charged))),
      ('end-is-final', s.final ->> 'status' <> g.status, format('was seen %s and is %s', s.final ->> 'status', g.status)),
      ('canceled-was-requested', s."cancelRequestedAt" IS NULL AND g.cancel_requested_at IS NOT NULL,
       'is canceled without a request'),
      ('deleted-is-gone', s."deletedAt" IS NOT NULL AND g.deleted_at IS NULL,
       'its deletion was acknowledged, and it is not deleted'),
      ('deleted-is-gone', s."deleteRequestedAt" IS NULL AND g.deleted_at IS NOT NULL, 'is deleted without a request')`,
  },
  {
    // The service purges prompts of generations that were deleted a month ago.
    from: `(
      SELECT p.prompt, count(*) AS count, min(g.account_id) AS account_id, string_agg(g.uuid::text, ', ' ORDER BY g.uuid) AS uuids,
             min(g.oauth_client_id::text) AS client_id
        FROM generations g JOIN chaos.prompts p ON p.generation = g.uuid GROUP BY p.prompt) made
      JOIN accounts a ON a.id = made.account_id JOIN seen_accounts s ON s.uuid = a.uuid
      LEFT JOIN seen_creates c ON c.prompt = made.prompt`,
    account: 'a.id',
    subject: 'made.uuids',
    rules: `
      ('no-unrequested-generations', c.prompt IS NULL, format('no client sent "%s"', made.prompt)),
      ('application-is-recorded', c.prompt IS NOT NULL AND made.client_id IS DISTINCT FROM c."clientId",
       format('was created by %s: %s', c."clientId", made.client_id)),
      ('key-options-are-kept', c."isForbidden", format('"%s" was created, which the options of its key forbid', made.prompt)),
      ('one-generation-per-create', NOT c."isStale" AND made.count > 1,
       format('"%s", sent %s times, led to all of them', made.prompt, c.sent)),
      ('rejected-is-not-charged', NOT c."isStale" AND c.sent = c.rejected, format('"%s" was rejected', made.prompt)),
      ('lists-show-own-items', NOT c."isStale" AND a.uuid <> c."accountUuid", format('belongs to %s', a.uuid))`,
  },
  {
    from: `seen_keys s LEFT JOIN accounts a ON a.uuid = s."accountUuid" LEFT JOIN api_keys k ON k.uuid = s.uuid`,
    account: 'a.id',
    subject: 's.uuid',
    rules: `
      ('created-exists', (k.key_hash, k.account_id) IS DISTINCT FROM (sha256(convert_to(s.key, 'UTF8')), a.id),
       'is a key from a 201, and is missing or different in the database'),
      ('revoked-key-is-rejected', s."revokedAt" IS NOT NULL AND k.revoked_at IS NULL,
       'its revocation was acknowledged, and it is not revoked'),
      ('valid-key-is-accepted', s."revokeRequestedAt" IS NULL AND k.revoked_at IS NOT NULL, 'is revoked without a request')`,
  },
  {
    from: `paid_topups s LEFT JOIN accounts a ON a.uuid = s."accountUuid" LEFT JOIN (
      SELECT t.stripe_session_id, t.account_id, t.status, t.credits, t.amount_cents, count(l.uuid) AS entries, sum(l.amount) AS credited
        FROM topups t LEFT JOIN ledger_entries l ON l.effect_key = 'topup:' || t.uuid AND l.account_id = t.account_id
       GROUP BY t.uuid) t ON t.stripe_session_id = s."sessionId"`,
    account: 'a.id',
    subject: 's."sessionId"',
    rules: `('paid-topup-is-credited', (t.account_id, t.amount_cents, t.status, t.entries, t.credited)
        IS DISTINCT FROM (a.id, s."amountCents", 'succeeded', 1::bigint, t.credits::bigint),
      format('%s cents were paid: %s', s."amountCents", coalesce(to_json(t)::text, 'there is no top-up')))`,
  },
  {
    from: `paid_plans s JOIN accounts a ON a.uuid = s."accountUuid"
      LEFT JOIN subscriptions b ON b.stripe_subscription_id = s."subscriptionId" AND b.account_id = a.id`,
    account: 'a.id',
    subject: 's."subscriptionId"',
    rules: `('paid-plan-is-known', b.id IS NULL, format('the plan %s was paid, and the account has no such subscription', s.plan))`,
  },
  {
    from: `staff_adjustments s LEFT JOIN accounts a ON a.uuid = s."accountUuid" CROSS JOIN LATERAL (
      SELECT count(*) AS entries, coalesce(bool_and(l.account_id = a.id AND l.amount = s.credits), true) AS is_right
        FROM ledger_entries l WHERE l.effect_key = 'adjustment:' || s.request) posted`,
    account: 'a.id',
    subject: 's.request',
    rules: `('adjustment-is-posted-once',
      NOT posted.is_right OR posted.entries > 1 OR posted.entries = 0 AND s."isConfirmed",
      format('%s credits, confirmed: %s, %s entries', s.credits, s."isConfirmed", posted.entries))`,
  },
  {
    from: `staff_refunds s LEFT JOIN accounts a ON a.uuid = s."accountUuid" CROSS JOIN LATERAL (
      SELECT count(*) AS entries, sum(l.amount) AS credits
        FROM ledger_entries l WHERE l.entry_type = 'refund' AND l.generation_uuid = s.uuid) posted`,
    account: 'a.id',
    subject: 's.uuid',
    rules: `('staff-refund-is-posted-once', (posted.entries, posted.credits) IS DISTINCT FROM (1::bigint, s.credits::bigint),
      format('%s credits were refunded, by %s entries of %s', s.credits, posted.entries, posted.credits))`,
  },
  {
    from: `seen_deletions s LEFT JOIN (
      SELECT a.id, a.uuid, a.email, a.deletion_requested_at IS NOT NULL AS is_requested, a.erased_at IS NOT NULL AS is_erased,
             (SELECT count(*) FROM sessions b WHERE b.account_id = a.id) AS sessions,
             EXISTS (SELECT FROM generations g WHERE g.account_id = a.id AND g.prompt <> '') AS has_prompts,
             NOT EXISTS (SELECT FROM account_deletions d WHERE d.account_id = a.id) AS is_completed
        FROM accounts a) a ON a.uuid = s."accountUuid"`,
    account: 'a.id',
    subject: 's."accountUuid"',
    rules: `('deletion-is-carried-out',
      (CASE WHEN s."isUndone" THEN NOT a.is_requested AND NOT a.is_erased AND a.email = s.email
            WHEN a.is_erased THEN a.is_requested AND a.email <> s.email AND a.sessions = 0
                                  AND NOT (a.is_completed AND a.has_prompts)
            ELSE a.is_requested AND a.email = s.email END) IS NOT TRUE,
      format('%s, undone: %s; in the database %s', s.email, s."isUndone", to_json(a)))`,
  },
  {
    // Once renewals were seen to be stopped, nothing is charged, and what is paid later is returned after the erasure.
    from: `seen_deletions s JOIN charges c ON c.customer = s."customerId" AND NOT s."isUndone"
      LEFT JOIN accounts a ON a.uuid = s."accountUuid"`,
    account: 'a.id',
    subject: 's."accountUuid"',
    rules: `('payments-end-with-a-deletion', c.created > s."stoppedAt" OR c.created > s."acknowledgedAt"
        AND c.refunded < c.amount AND a.erased_at IS NOT NULL
        AND NOT EXISTS (SELECT FROM account_deletions d WHERE d.account_id = a.id),
      format('%s of %s cents, %s refunded, at %s; requested %s, stopped %s', c.id, c.amount, c.refunded, c.created,
             s."acknowledgedAt", s."stoppedAt"))`,
  },
  {
    from: `generations g JOIN chaos.prompts p ON p.generation = g.uuid LEFT JOIN seen_creates c ON c.prompt = p.prompt
      CROSS JOIN LATERAL (
        SELECT (SELECT count(*) FROM chaos.inputs i WHERE i.generation = g.uuid) AS recorded,
               (SELECT count(*) FROM generation_inputs i JOIN uploads u ON u.uuid = i.upload_uuid AND u.status = 'ready'
                 WHERE i.generation_uuid = g.uuid AND i.account_id = g.account_id) AS ready,
               coalesce(c."hasImage", false)::int AS expected) images
      LEFT JOIN (
        SELECT r.prompt, count(*) AS count, bool_or(r."hasSucceeded") AS has_output,
               array_agg(r.error ORDER BY r.number DESC) AS errors,
               bool_or(r."hasStarted") AS has_started, bool_or(NOT r."hasImage") AS lacks_image
          FROM runs r GROUP BY r.prompt) runs ON runs.prompt = p.prompt
      LEFT JOIN runs recorded ON recorded.id = g.upstream_handle ->> 'request_id' AND recorded.prompt = p.prompt`,
    account: 'g.account_id',
    subject: `format('generation %s', g.uuid)`,
    rules: `
      ('priced-and-run-by-one-catalog', NOT g.is_test AND c."pricesByCatalog" ->> coalesce(g.catalog_id::text, '')
         IS DISTINCT FROM g.credits_charged::text AND c.prompt IS NOT NULL,
       format('costs %s credits by the catalog %s: %s', g.credits_charged, g.catalog_id, c."pricesByCatalog")),
      ('priced-and-run-by-one-catalog', NOT g.is_test AND EXISTS (SELECT FROM second_models m
         WHERE (m.catalog = coalesce(g.catalog_id::text, '')) <> EXISTS (SELECT FROM second_models o WHERE o.model = 'fal:' || g.upstream_model)
           AND g.upstream_model IS NOT NULL),
       format('was priced by the catalog %s and run by %s', g.catalog_id, g.upstream_model)),
      ('generations-have-their-images', images.recorded <> images.expected,
       format('has %s images instead of %s', images.recorded, images.expected)),
      ('generations-have-their-images', g.status = 'succeeded' AND g.deleted_at IS NULL AND NOT g.is_test
         AND images.ready <> images.expected, format('%s of its images are left', images.ready)),
      ('generations-have-their-images', images.expected = 1 AND runs.lacks_image, 'was run without its image'),
      ('run-once', runs.count > least(2, 1 + g.unconfirmed_submits) + (g.failed_over_at IS NOT NULL)::int,
       format('%s runs, %s submissions of unknown outcome, tried elsewhere %s', runs.count, g.unconfirmed_submits, g.failed_over_at)),
      -- Runs whose submission was not confirmed have no order.
      ('ended-by-its-last-run', g.failed_over_at IS NOT NULL AND g.unconfirmed_submits = 0 AND g.error_message = ANY (runs.errors)
         AND (runs.count = 1 OR runs.errors[1] IS DISTINCT FROM g.error_message),
       format('%s, as a run before its last one', g.error_message)),
      ('canceled-runs-were-obsolete', recorded."isCanceled" AND g.completed_at < g.deadline_at
         AND NOT (g.cancel_requested_at IS NOT NULL AND recorded."wasSeenWaiting"),
       format('%s, %s, canceled by its owner %s: its run was canceled, %s', g.status, g.error_message, g.cancel_requested_at,
              recorded.detail)),
      -- An earlier submit of unknown outcome may have led to a run whose handle is not known.
      ('canceled-generations-did-not-run', g.error_message = 'Canceled.' AND g.unconfirmed_submits = 0 AND runs.has_started,
       'a run had started'),
      ('call-backs-are-not-believed', g.error_message LIKE '%${CALLBACK_ONLY}%', g.error_message),
      ('success-has-an-output', g.status = 'succeeded' AND runs.has_output IS NOT TRUE, 'the upstream produced nothing')`,
  },
  {
    from: `(SELECT r.prompt, count(*) AS count FROM runs r GROUP BY r.prompt) r
      LEFT JOIN (chaos.prompts p JOIN generations g ON g.uuid = p.generation) ON p.prompt = r.prompt`,
    account: 'NULL',
    subject: 'r.prompt',
    rules: `('runs-have-a-generation', g.uuid IS NULL, format('%s runs without a generation', r.count))`,
  },
  {
    from: `(SELECT (SELECT coalesce(sum(credits_charged), 0) FROM generations) AS prices,
      (SELECT coalesce(sum(-amount), 0) FROM ledger_entries WHERE entry_type = 'burn') AS burns) sums`,
    account: 'NULL',
    subject: `'all generations'`,
    rules: `('priced-and-run-by-one-catalog', sums.prices <> sums.burns,
      format('the prices are %s credits, the burns %s', sums.prices, sums.burns))`,
  },
  {
    from: `seen_endpoints s LEFT JOIN accounts a ON a.uuid = s."accountUuid" LEFT JOIN webhook_endpoints w ON w.uuid = s.uuid`,
    account: 'a.id',
    subject: 's.uuid',
    rules: `
      ('failing-endpoint-has-failed', w.disabled_reason <> 'owner',
       format('%s, although its receiver has not failed for five days', w.disabled_reason)),
      ('endpoint-change-holds', s."isConfirmed" AND coalesce(w.disabled_reason, 'owner') = 'owner'
         AND (CASE WHEN s."isDeleted" THEN w.id IS NULL
                   ELSE (w.disabled_reason IS NULL) = s."isEnabled" AND right(w.url, length(s.token) + 1) = '/' || s.token
                        AND coalesce(to_jsonb(w.events), 'null') = coalesce(s.events, 'null') END) IS NOT TRUE,
       format('changed to %s; in the database %s, %s, disabled by %s', to_json(s), w.url, w.events, w.disabled_reason))`,
  },
  {
    from: `webhook_deliveries d JOIN outbox_events o ON o.id = d.event_id JOIN webhook_endpoints w ON w.id = d.endpoint_id
      JOIN accounts a ON a.id = w.account_id`,
    account: 'a.id',
    subject: `format('event %s to %s', o.uuid, w.uuid)`,
    rules: `('succeeded-delivery-was-accepted', d.status = 'succeeded'
        AND (w.url IS NULL OR EXISTS (SELECT FROM seen_endpoints s WHERE s.uuid = w.uuid))
        AND NOT EXISTS (SELECT FROM accepted_messages m WHERE m.id = 'msg_' || o.uuid
              AND m.recipient = (CASE WHEN w.url IS NULL THEN a.uuid ELSE w.uuid END)::text), 'was not accepted')`,
  },
  {
    from: `chaos.emails m LEFT JOIN emails e ON e.uuid = m.email
      LEFT JOIN (SELECT uuid, count(*) AS times FROM mails GROUP BY uuid) accepted ON accepted.uuid = m.email::text
      CROSS JOIN LATERAL (
      SELECT coalesce(accepted.times, 0) AS times,
             m.failed_at - m.created_at + (
               SELECT coalesce(sum(v.milliseconds), 0) FROM advances v WHERE v.at <= ${toMs('m.failed_at')}
             ) * interval '1 millisecond' >= ${GIVEN_UP_AFTER} AS is_given_up) sent`,
    account: 'm.account',
    subject: `format('message %s %s', m.email, m.kind)`,
    rules: `('mail-is-sent', CASE e.status WHEN 'sent' THEN sent.times = 0 WHEN 'failed' THEN sent.is_given_up IS NOT TRUE
        ELSE e.status IS NOT NULL END, format('is %s, and was accepted %s times', e.status, sent.times))`,
  },
  {
    from: `(SELECT s.uuid, count(*) AS times, count(*) FILTER (WHERE s."isCut") AS cuts, array_agg(s.recipient) AS recipients
        FROM mails s GROUP BY s.uuid) s
      LEFT JOIN (chaos.emails m JOIN accounts a ON a.id = m.account) ON m.email::text = s.uuid`,
    account: 'm.account',
    subject: `format('message %s %s', s.uuid, m.kind)`,
    rules: `
      ('mail-has-a-cause', m.email IS NULL OR a.erased_at IS NULL AND coalesce(m.recipient, a.email) <> ANY (s.recipients),
       format('was sent to %s', s.recipients)),
      ('mail-is-sent-once', s.times > 3 + s.cuts, format('was accepted %s times, %s cut', s.times, s.cuts))`,
  },
];
