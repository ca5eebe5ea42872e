import { type CodeChange, parseCodeChanges } from './codeChange.ts';

/** A realistic mistake, built into a copy of the service to prove that chaos detects it. */
export interface SeededBug {
  name: string;
  changes: CodeChange[];
  /** Statements for the migrated database that remove the second line of defence, such as a unique index. */
  sql: string[];
  /** The invariants that may detect it. Other violations in the same run prove nothing. */
  foundBy: string[];
  /** Limits `foundBy` to violations whose subject and detail match. */
  detailPattern?: RegExp;
}

interface Definition extends Partial<Omit<SeededBug, 'name' | 'changes'>> {
  foundBy: string[];
  /** Changes as `parseCodeChanges` reads them. */
  changes?: string;
}

const ONE_REFUND = ['DROP INDEX ledger_entries_generation_entry_type_unique'];
/** Ledger numbers are unique per account: without this, the key would reject writes that are based on a stale read. */
const LEDGER_KEY = [
  'ALTER TABLE ledger_entries DROP CONSTRAINT ledger_entries_pkey',
  'CREATE INDEX ledger_entries_listed ON ledger_entries (account_id, number)',
];
const LEDGER_RULES = [
  'balance-is-the-ledger',
  'balance-is-the-last-entry',
  'buckets-are-the-ledger',
  'ledger-chain-is-unbroken',
  'ledger-is-counted',
];

const GENERATION_BUGS: Record<string, Definition> = {
  'the charge does not look for the Idempotency-Key, and no index is unique by it': {
    changes: 'shared/domain/generations/decideCreates.sql: WHEN r.idempotency_key IS NOT NULL --> WHEN false',
    sql: ['DROP INDEX generations_idempotency_key_unique'],
    foundBy: ['same-key-same-response', 'one-generation-per-create', 'one-generation-an-idempotency-key'],
  },
  'the charge does not check whether the account is suspended': {
    changes: `shared/domain/generations/decideCreates.sql: WHEN a.suspended_at IS NOT NULL THEN 'account_suspended' -->`,
    foundBy: ['suspended-creates-nothing', 'suspended-account-is-rejected'],
  },
  'a suspension is not recorded in the audit log': {
    changes: `shared/domain/staff/suspension.ts suspendAccount:
      await recordAuditEntry($transaction, $actor, { --> void ({`,
    foundBy: ['suspensions-are-audited'],
  },
  'a generation that has ended can end again, and is refunded again': {
    changes: `
      shared/domain/generations/execution/completeGenerations.sql: AND g.status = 'queued' -->
      shared/domain/generations/execution/failGenerations.sql: AND g.status = 'queued' -->`,
    sql: ONE_REFUND,
    foundBy: ['one-refund-a-failure', 'slots-are-what-is-queued', 'end-is-final'],
  },
  'a cancellation also ends a generation that has ended, and refunds it again': {
    changes: `
      shared/domain/generations/execution/cancelGeneration.sql: AND g.status = 'queued' -->
      shared/domain/generations/execution/failGenerations.sql:
        AND g.status = 'queued' --> AND (g.status = 'queued' OR r.message = p_canceled)`,
    sql: ONE_REFUND,
    foundBy: ['one-refund-a-failure', 'slots-are-what-is-queued', 'end-is-final'],
  },
  'a cancellation refunds a generation that was submitted, without a confirmation of the upstream': {
    changes: `shared/domain/generations/execution/cancelGeneration.sql:
      NOT v_generation.is_submitted AND v_generation.unconfirmed_submits = 0
        AND v_generation.submit_started_at IS NOT DISTINCT FROM p_claimed_at --> true`,
    foundBy: ['canceled-generations-did-not-run'],
  },
  'the generation sweep does nothing': {
    changes: `worker/registry.ts: 'generation.sweep': () => $sweep(), --> 'generation.sweep': async () => {},`,
    foundBy: ['all-settled', 'nothing-past-its-deadline'],
    detailPattern: /generation/,
  },
  'a charge whose response was lost is reported as rejected': {
    changes: `
      shared/domain/generations/charge.ts resolveLostAnswer:
        callChargeFunction($charges, { waits: true }).catch(() => null) --> Promise.resolve(null)
      shared/domain/generations/charge.ts resolveLostAnswer: $outcome : 'unknown' --> $outcome : 'model_unavailable'`,
    foundBy: ['rejected-is-not-charged'],
  },
  'a charge whose response was lost is reported as accepted': {
    changes: `shared/domain/generations/charge.ts resolveLostAnswer:
      const $outcome = $outcomes?.[$index]; --> const $outcome = 'accepted';`,
    foundBy: ['created-exists'],
  },
  'a generation is claimed while another worker holds its lease': {
    changes: `
      shared/domain/generations/execution/claim.ts IS_CLAIMABLE:
        AND ($g.leased_until IS NULL OR $g.leased_until <= :now) -->
      shared/domain/generations/execution/claim.ts CLAIM_UPDATE:
        unconfirmed_submits = $g.unconfirmed_submits + cast($g.submit_started_at IS NOT NULL AS int), -->`,
    foundBy: ['run-once'],
  },
  'a generation is tried elsewhere after each run that fails': {
    changes: 'shared/domain/generations/execution/failOver.ts FAIL_OVER: AND failed_over_at IS NULL -->',
    foundBy: ['run-once'],
  },
  'a generation that is tried elsewhere also ends with its failed run': {
    changes: `
      shared/domain/generations/execution/failOver.ts endFailedRun:
        if (order.length > 0 && (await failOver($generation, $order, $message))) return; -->
        if (order.length > 0) await failOver($generation, $order, $message);
      shared/domain/generations/execution/failGenerations.sql: r.run IS NULL OR --> true OR`,
    foundBy: ['ended-by-its-last-run'],
  },
  'a recorded submit whose response was lost counts as late, and its run is canceled': {
    changes: `shared/domain/generations/execution/submit.ts RECORD_ACCEPTED:
      OR ($g.upstream_handle = $r.handle AND $g.upstream = $r.upstream) -->`,
    foundBy: ['canceled-runs-were-obsolete'],
  },
  'a generation that succeeded keeps its slot': {
    changes: `shared/domain/generations/execution/completeGenerations.sql:
      in_flight = a.in_flight - counts.ended --> in_flight = a.in_flight`,
    foundBy: ['slots-are-what-is-queued'],
  },
  'the claim does not compare live and test generations': {
    changes: 'shared/domain/generations/execution/claim.ts IS_ROUTED: AND $route.is_test = $g.is_test -->',
    sql: ['ALTER TABLE generations DROP CONSTRAINT generations_test_upstream_check'],
    foundBy: ['test-generations-are-separate'],
  },
  'a call-back of an upstream is believed without asking the upstream': {
    changes: `shared/domain/generations/execution/callbacks.ts receiveCallback:
      await makePollDue($target, $jobId); -->
      const { status, payload } = JSON.parse(body.toString()) as { status: string; payload: { detail: string } };
      const ended = { uuid: $target.uuid, account_id: $target.accountId, message: payload?.detail };
      if (status !== 'ERROR') await makePollDue($target, $jobId);
      else await (await import('./completeOrFail.ts')).failGeneration(ended);`,
    foundBy: ['call-backs-are-not-believed'],
  },
  'the parallel limit is not checked': {
    changes: 'shared/domain/generations/decideCreates.sql: WHEN a.in_flight >= a.parallel_limit --> WHEN false',
    foundBy: ['slots-within-the-limit'],
  },
  'a create spends credits of top-ups before those of the plan': {
    changes: `shared/domain/generations/decideCreates.sql:
      least(a.plan_credits, price.credits) --> greatest(0, price.credits - a.topup_credits)`,
    foundBy: ['plan-credits-are-spent-first'],
  },
  'a generation records another catalog than the one of its price': {
    changes: 'shared/domain/generations/create.ts buildChargeRequest: catalog_id: getCatalog().id --> catalog_id: null',
    foundBy: ['priced-and-run-by-one-catalog'],
  },
  'an image is deleted a day after its last use, although a generation has it': {
    changes: `
      shared/domain/uploads/expireUploads.ts expireUploads:
        await runInBatches(KEEP_USED, { now: $at, later: addMilliseconds($at, UPLOAD_RETENTION_MS) }); -->
      shared/domain/uploads/expireUploads.ts DELETE_EXPIRED: AND NOT \${IS_KEPT} -->`,
    foundBy: ['generations-have-their-images'],
  },
  'a refund goes into the wrong bucket': {
    changes: `
      shared/domain/generations/execution/failGenerations.sql:
        plan_credits = a.plan_credits + sums.plan_credits, --> plan_credits = a.plan_credits,
      shared/domain/generations/execution/failGenerations.sql:
        topup_credits = a.topup_credits + sums.credits - sums.plan_credits, -->
        topup_credits = a.topup_credits + sums.credits,`,
    foundBy: ['buckets-are-the-ledger'],
  },
};

const ACCESS_BUGS: Record<string, Definition> = {
  'a revoked key is still accepted': {
    changes: `
      shared/domain/accounts/credentials.ts: '(k.revoked_at IS NULL OR k.expires_at <= k.revoked_at)' --> 'true'
      shared/domain/accounts/credentials.ts:
        'hasExpired', k.revoked_at IS NOT NULL OR k.expires_at <= :now --> 'hasExpired', k.expires_at <= :now
      shared/domain/generations/decideCreates.sql: AND k.revoked_at IS NULL -->`,
    foundBy: ['revoked-key-is-rejected'],
  },
  'a key with the scope svc:read creates': {
    changes: `
      api/features/generations/endpoints.ts:
        'POST /api/generations/create/', policy: { needs: 'createGenerations', access: 'svc:write' -->
        'POST /api/generations/create/', policy: { needs: 'createGenerations', access: 'svc:read'
      shared/domain/generations/decideCreates.sql: 'svc:write' <> ALL (k.scopes) OR -->`,
    foundBy: ['key-options-are-kept'],
  },
  'the allowed models of a key are checked only for estimates': {
    changes: `
      shared/domain/generations/create.ts createGeneration:
        requireAllowedModel($caller, $input.model); --> void requireAllowedModel;
      shared/domain/generations/decideCreates.sql: r.model <> ALL (k.allowed_models) --> false`,
    foundBy: ['key-options-are-kept'],
  },
  'the allowed addresses of a key are checked when it is changed, and not for its requests': {
    changes: `
      api/pipeline/runProgramRoute.ts authorize: requireAllowedAddress($caller); --> void requireAllowedAddress;
      shared/domain/generations/decideCreates.sql:
        OR (r.address <<= ANY (k.allowed_ips)) IS NOT TRUE AND k.allowed_ips IS NOT NULL -->`,
    foundBy: ['key-options-are-kept'],
  },
  'an expired key creates until it is revoked': {
    changes: `
      shared/domain/accounts/credentials.ts buildKeyCaller:
        if ($owner.options?.hasExpired === true) throw keyExpiredError($owner.options.expiresAt); -->
        void keyExpiredError;
      shared/domain/generations/decideCreates.sql: AND (k.expires_at IS NULL OR k.expires_at > p_now) -->`,
    foundBy: ['expired-key-is-rejected'],
  },
  'estimates remember the price of a model, whatever the parameters are': {
    changes: `
      shared/domain/generations/estimate.ts estimateGeneration:
        const credits = priceRequest($caller, $input); -->
        const credits = (pricesByModel[model] ??= priceRequest(caller, input));
      shared/domain/generations/estimate.ts:
        async function findRejection( -->
        const pricesByModel: Record<string, number> = {}; async function findRejection(`,
    foundBy: ['estimate-is-the-price'],
  },
  'content without a decision of the moderation service is accepted, although it must be rejected': {
    changes: `shared/domain/generations/requestChecks.ts moderate:
      $verdict === null && config.MODERATION_ON_ERROR === 'reject' -->
      $verdict === null && config.MODERATION_ON_ERROR !== 'reject'`,
    foundBy: ['created-content-was-allowed'],
  },
  'the charge decides without the lock of the account': {
    changes: 'shared/domain/credits/lockAccounts.sql: ORDER BY a.id FOR NO KEY UPDATE SKIP LOCKED -->',
    foundBy: ['spending-limits-match-generations', 'charges-keep-limits'],
  },
  'the limit of an application is not checked': {
    changes: 'shared/domain/generations/decideCreates.sql: OR l.client_id = r.oauth_client_id -->',
    foundBy: ['spending-limits-match-generations', 'charges-keep-limits'],
  },
  'the limit of a member is not checked': {
    changes: 'shared/domain/generations/decideCreates.sql: OR l.member_number = r.member_number -->',
    foundBy: ['charges-keep-limits'],
  },
  "a removed member's session still creates": {
    changes: `
      shared/domain/signIn/endMembership.ts endMembership:
        const sessions = await Session.query($transaction)
          .where({ account_id: accountId, member_number: memberNumber }).delete(); -->
        const sessions = 0; void Session;
      shared/domain/signIn/sessions.ts FIND_SESSION_OWNERS: AND m.removed_at IS NULL -->`,
    foundBy: ['member-rights-are-kept', 'sessions-belong-to-members'],
  },
  'the role of a member is not checked again in the charge, or when its request is admitted': {
    changes: `
      shared/domain/generations/decideCreates.sql: AND m.role <> ALL (p_creators) --> AND false
      api/pipeline/runProgramRoute.ts authorize:
        if (route.needs !== undefined) requireRight($caller, $route.needs); --> void requireRight;`,
    foundBy: ['member-rights-are-kept'],
  },
  'a refund is returned to the present window of a limit, whichever window was charged': {
    changes: 'migrations/0001_baseline/06_usage.sql: AND generation_count_at_window_start < NEW.number; --> ;',
    foundBy: ['windows-match-at-every-commit', 'spending-limits-match-generations'],
  },
  'the tokens of a disconnected application are still accepted': {
    changes: 'shared/domain/oauth/grants.ts FIND_ACTIVE_GRANTS: AND $g.revoked_at IS NULL -->',
    foundBy: ['revoked-key-is-rejected', 'rejected-is-not-charged'],
  },
  'the refresh tokens of a disconnected application return new tokens': {
    changes: 'shared/domain/oauth/refreshTokens.ts ROTATE_REFRESH_TOKENS: AND $g.revoked_at IS NULL -->',
    foundBy: ['revoked-key-is-rejected'],
  },
  'a refresh token is accepted although its successor was used': {
    changes: 'shared/domain/oauth/refreshTokens.ts ROTATE_REFRESH_TOKENS: AND NOT ${IS_SUPERSEDED}) --> )',
    foundBy: ['used-refresh-token-is-rejected'],
  },
  'a refresh token that is used again is rejected, and its grant continues': {
    changes: `shared/domain/oauth/refreshTokens.ts explainRejection: await revokeGrant($row.uuid, 'token_reuse'); -->`,
    foundBy: ['revoked-key-is-rejected'],
  },
  'the grant of an application is not checked in the charge': {
    changes: 'shared/domain/generations/decideCreates.sql: AND g.revoked_at IS NULL -->',
    foundBy: ['ended-grants-charge-nothing'],
  },
};

const PAYMENT_BUGS: Record<string, Definition> = {
  'credits are posted without the lock on the account': {
    changes: 'shared/domain/credits/ledger.ts lockAccount: .forNoKeyUpdate() -->',
    sql: LEDGER_KEY,
    foundBy: LEDGER_RULES,
  },
  'automatic top-ups are not limited to one an hour': {
    changes: `shared/domain/billing/autoTopupRule.ts getAutoTopupBindings:
      claimableSince: addMilliseconds($at, -AUTO_TOPUP_INTERVAL_MS) --> claimableSince: $at`,
    foundBy: ['automatic-topups-are-an-hour-apart'],
  },
  'a webhook event is marked as applied before what it names is read, and nothing else reads that': {
    changes: `
      shared/domain/billing/paymentEvents.ts: const snapshots = await fetchEventSnapshots($event); -->
        await PaymentEvent.query().findById(eventId).patch({ processed_at: now() });
        const snapshots = await fetchEventSnapshots($event);
      shared/domain/billing/paymentEvents.ts applyEvent:
        findProblem($snapshots) === null && (await $unapplied.patch({ processed_at: now() })) === 0 --> false
      worker/registry.ts: singleFlight(reconcilePayments) --> async () => {}
      worker/registry.ts: singleFlight(runBillingMaintenance) --> async () => {}
      shared/domain/billing/pendingTopups.ts syncPendingTopup:
        else await applySnapshot(await fetchCheckoutTopup($topup)); -->`,
    foundBy: [
      'payments-are-topups',
      'plans-are-the-same',
      'reversals-are-known',
      'paid-topup-is-credited',
      'paid-plan-is-known',
    ],
  },
  'a lost commission of a paid invoice is not searched for': {
    changes: `
      shared/domain/affiliates/commissions.ts fetchCommission:
        apply: ($transaction) => applyCommission($transaction, $referral, $invoiceId, $paid), --> apply: async () => {},
      shared/domain/billing/reconcile.ts reconcilePayments: createMissingCommissions, -->`,
    foundBy: ['paid-invoices-earn-commissions'],
  },
  'an owed refund is recorded without its task': {
    changes: `shared/domain/billing/owedRefunds.ts oweRefunds:
      await scheduleTasks($transaction, REFUND_KIND, tasks); -->`,
    foundBy: ['what-waits-has-a-task'],
  },
  'a task is completed although its run has failed': {
    changes: `shared/domain/tasks/runTasks.ts recordFailure:
      await writeEnd($task, {
        runAt: addMilliseconds(now(), getBackoffMs($task.attempts, $kind.backoff)), attempts, reason }); -->
      await completeTask($task);`,
    foundBy: ['what-waits-has-a-task'],
  },
  'the sweep charges a card for every low balance, without a burn as its cause': {
    changes: `
      shared/domain/billing/autoTopupRule.ts buildAutoTopupState:
        AND (\${credits} IS NOT NULL OR a.auto_topup_triggered_at IS NOT NULL) -->
      shared/domain/billing/autoTopupRule.ts FIND_DUE: AND a.auto_topup_triggered_at IS NOT NULL -->`,
    foundBy: ['automatic-charges-have-a-cause'],
  },
  'a top-up of unknown outcome counts as failed: the response is 402, and the card is charged': {
    changes: `shared/domain/generations/create.ts chargeWithAutoTopup:
      if ($topup === 'unknown') throw $unknownError($charge); -->`,
    foundBy: ['no-charge-after-a-rejection'],
  },
  'a charge of unknown outcome is repeated at once, with another idempotency key': {
    changes: `
      shared/gateways/payments/stripePayments.ts:
        idempotencyKey: \`topup-\${$order.topupUuid}\` --> idempotencyKey: \`topup-\${Math.random()}\`
      shared/domain/billing/autoTopups.ts chargeAutoTopup: await processor.chargeTopup( -->
        await ((...topup: Parameters<typeof processor.chargeTopup>) =>
          processor.chargeTopup(...topup).catch(() => processor.chargeTopup(...topup)))(`,
    foundBy: ['charged-once'],
  },
  'an automatic top-up does not grant a month that is due first': {
    changes: `
      shared/domain/credits/renewDuePeriods.ts withDueGrants:
        await renewCreditPeriods($transaction, $locked, $at) --> $locked
      shared/domain/generations/create.ts chargeWithDueGrants:
        if ($outcome !== 'insufficient_credits' || !(await grantDueMonths($charge.account_id))) return -->
        if ($charge !== null) return`,
    foundBy: ['due-grants-precede-automatic-topups'],
  },
  'an automatic top-up is charged although the customer has paid on a page already': {
    changes: `shared/domain/billing/syncPurchases.ts syncPurchases:
      ...$pages.map(async --> ...$pages.slice($pages.length).map(async`,
    foundBy: ['no-needless-automatic-charge'],
  },
  'a suspension keeps the trigger of an automatic top-up': {
    sql: [
      `CREATE OR REPLACE TRIGGER accounts_clear_auto_topup_trigger BEFORE UPDATE ON accounts FOR EACH ROW
         WHEN (NEW.auto_topup_triggered_at IS NOT NULL
               AND (NEW.balance >= NEW.auto_topup_threshold_credits OR NOT NEW.auto_topup_enabled OR NEW.plan_slug IS NULL
                    OR NEW.auto_topup_threshold_credits <> OLD.auto_topup_threshold_credits))
         EXECUTE FUNCTION clear_auto_topup_trigger()`,
    ],
    foundBy: ['suspension-clears-the-trigger', 'auto-topup-triggers-follow-burns'],
  },
  'a gift code is redeemed without its lock': {
    changes: `shared/domain/adjustments/giftCodes.ts lockRedeemableCode:
      findOne({ code_hash: hashCode($text) }).forNoKeyUpdate() --> findOne({ code_hash: hashCode($text) })`,
    foundBy: ['gift-codes-are-counted'],
  },
  'credit periods are renewed without a lock': {
    changes: 'shared/domain/credits/renewDuePeriods.ts prepareBatch: FOR NO KEY UPDATE OF $a SKIP LOCKED -->',
    sql: [...LEDGER_KEY, 'DROP INDEX ledger_entries_effect_key_unique'],
    foundBy: ['one-grant-a-month', 'effects-happen-once', ...LEDGER_RULES],
  },
  'a deletion takes a year as paid if the subscription is active at Stripe': {
    changes: `shared/domain/billing/stopRenewals.ts stopRenewals: if (!isYearPaid($subscription)) -->
      if (!isYearPaid($subscription) && $subscription.status !== 'active')`,
    foundBy: ['payments-end-with-a-deletion'],
  },
  'the plan of a returned upgrade still applies': {
    changes: `
      shared/domain/billing/planHistory.ts findPaidPlan: && $returnedAt === null -->
      shared/domain/billing/planHistory.ts findCurrentPlan:
        least(returned_at, applies_until --> least(applies_until`,
    foundBy: ['returned-plans-end'],
  },
  'the difference in credits of an upgrade is not granted': {
    changes: `shared/domain/credits/periods.ts correctGrants:
      if ($isCorrect || $current === undefined) return $account -->
      if ($isCorrect || $current === undefined || $current.granted > 0) return $account`,
    foundBy: ['a-month-grants-its-plan'],
  },
  'a lost dispute does not count as returned': {
    changes: `shared/gateways/payments/stripeMappers.ts computeReversals:
      Math.max($refunded, $prevented) + $lost --> Math.max($refunded, $prevented)`,
    foundBy: ['plan-reversals-are-known', 'returned-plans-end'],
  },
  'what was returned of an invoice is not recorded once its subscription has ended': {
    changes: `shared/domain/billing/invoices.ts applySubscriptionInvoices:
      new Map($invoices.map( --> new Map((fetched.status === 'canceled' ? [] : $invoices).map(`,
    foundBy: ['plan-reversals-are-known'],
  },
  'what was paid after the request of a deletion is not refunded at the erasure': {
    changes: `shared/domain/billing/owedRefunds.ts oweBackAfterDeletion:
      if ($requestedAt === null) return; --> if ($requestedAt === null || $requestedAt < now()) return;`,
    foundBy: ['payments-after-a-deletion-are-refunded', 'payments-end-with-a-deletion'],
  },
  'a month is granted by the present plan, whatever plan applied at its start': {
    changes: `shared/domain/credits/monthPlan.sql: FROM paid JOIN catalog_plans plan ON plan.slug = paid.plan_slug -->
      FROM paid JOIN subscriptions s ON s.id = p_subscription JOIN catalog_plans plan ON plan.slug = s.plan_slug`,
    foundBy: ['a-month-grants-its-plan'],
  },
};

const WEBHOOK_BUGS: Record<string, Definition> = {
  'the event of an ended generation is written after the commit, by a statement of its own': {
    changes: `
      shared/domain/generations/execution/completeGenerations.sql:
        FROM ended WHERE has_webhook --> FROM ended WHERE has_webhook AND false
      shared/domain/generations/execution/failGenerations.sql:
        FROM ended WHERE has_webhook --> FROM ended WHERE has_webhook AND false
      shared/domain/generations/execution/completeOrFail.ts createEndBatcher:
        const $busy = new Set($rows.filter((row) => row.is_busy).map((row) => row.uuid)); -->
        const $busy = new Set($rows.filter((row) => row.is_busy).map((row) => row.uuid));
        await runStatement(
          prepared('record_late_events',
            \`INSERT INTO outbox_events (account_id, type, subject, created_at, next_attempt_at)
             SELECT r.account_id, cast(:type AS text), r.uuid, cast(:now AS timestamptz), cast(:now AS timestamptz)
               FROM json_to_recordset(:late) AS r (uuid text, account_id bigint)
             ON CONFLICT (account_id, type, subject) DO NOTHING\`),
          { type: statement === CALL_COMPLETE ? 'generation.succeeded' : 'generation.failed', now: now(),
            late: JSON.stringify(
              ends.filter(({ uuid }) => $rows.some((row) => row.has_webhook && row.uuid === uuid))) });`,
    foundBy: ['ended-generation-is-announced', 'ends-with-an-address-have-an-event'],
  },
  'an endpoint is not due again for a retry, which waits for the next event': {
    changes: `shared/domain/webhooks/recordAndClaim.sql:
      least(first.ends_at, CASE WHEN first.due_at > p_now THEN first.due_at END) --> first.ends_at`,
    foundBy: ['pending-deliveries-are-due', 'ended-generation-is-announced'],
  },
  'every response of a receiver counts as a success': {
    changes: `shared/gateways/webhooks/postWebhook.ts toResult:
      if ($status >= 200 && $status < 300) --> if ($status >= 200)`,
    foundBy: ['succeeded-delivery-was-accepted', 'ended-generation-is-announced'],
  },
};

export const SEEDED_BUGS: readonly SeededBug[] = Object.entries({
  ...GENERATION_BUGS,
  ...ACCESS_BUGS,
  ...PAYMENT_BUGS,
  ...WEBHOOK_BUGS,
}).map(([name, { changes = '', sql = [], ...rest }]) => ({ name, changes: parseCodeChanges(changes), sql, ...rest }));
