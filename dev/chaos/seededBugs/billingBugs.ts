import type { SeededBug } from './seededBug.ts';

const CREATE = 'shared/domain/generations/create.ts';
const AUTO_TOPUPS = 'shared/domain/billing/autoTopups.ts';
const AUTO_TOPUP_RULE = 'shared/domain/billing/autoTopupRule.ts';
const REGISTRY = 'worker/registry.ts';

/** Ledger numbers are unique per account: without this, the key would reject writes that are based on a stale read. */
const DROP_LEDGER_KEY_SQL = [
  'ALTER TABLE ledger_entries DROP CONSTRAINT ledger_entries_pkey',
  'CREATE INDEX ledger_entries_listed ON ledger_entries (account_id, number)',
];

/** Bugs in payments, and in the credits that are granted or bought. */
export const BILLING_BUGS: readonly SeededBug[] = [
  {
    name: 'credits are posted without the lock on the account',
    changes: [
      { file: 'shared/domain/credits/ledger.ts', within: 'lockAccount', find: '.forNoKeyUpdate()', replace: '' },
    ],
    sql: DROP_LEDGER_KEY_SQL,
    foundBy: [
      'balance-is-the-ledger',
      'balance-is-the-last-entry',
      'buckets-are-the-ledger',
      'ledger-chain-is-unbroken',
      'ledger-is-counted',
    ],
  },
  {
    name: 'automatic top-ups are not limited to one an hour',
    changes: [
      {
        file: AUTO_TOPUP_RULE,
        within: 'getAutoTopupBindings',
        find: 'claimableSince: addMilliseconds($at, -AUTO_TOPUP_INTERVAL_MS)',
        replace: 'claimableSince: $at',
      },
    ],
    foundBy: ['automatic-topups-are-an-hour-apart'],
  },
  {
    name: 'a webhook event is marked as applied before what it names is read, and nothing else reads that',
    changes: [
      {
        file: 'shared/domain/billing/paymentEvents.ts',
        find: 'const snapshots = await fetchEventSnapshots($event);',
        replace:
          'await PaymentEvent.query().findById(eventId).patch({ processed_at: now() }); const snapshots = await fetchEventSnapshots($event);',
      },
      {
        file: 'shared/domain/billing/paymentEvents.ts',
        within: 'applyEvent',
        find: 'findProblem($snapshots) === null && (await $unapplied.patch({ processed_at: now() })) === 0',
        replace: 'false',
      },
      { file: REGISTRY, find: 'singleFlight(reconcilePayments)', replace: 'async () => {}' },
      { file: REGISTRY, find: 'singleFlight(runBillingMaintenance)', replace: 'async () => {}' },
      {
        file: 'shared/domain/billing/pendingTopups.ts',
        within: 'syncPendingTopup',
        find: 'else await applySnapshot(await fetchCheckoutTopup($topup));',
        replace: '',
      },
    ],
    foundBy: [
      'payments-are-topups',
      'plans-are-the-same',
      'reversals-are-known',
      'paid-topup-is-credited',
      'paid-plan-is-known',
    ],
  },
  {
    name: 'a lost commission of a paid invoice is not searched for',
    changes: [
      {
        file: 'shared/domain/affiliates/commissions.ts',
        within: 'fetchCommission',
        find: 'apply: ($transaction) => applyCommission($transaction, $referral, $invoiceId, $paid),',
        replace: 'apply: async () => {},',
      },
      {
        file: 'shared/domain/billing/reconcile.ts',
        within: 'reconcilePayments',
        find: 'createMissingCommissions,',
        replace: '',
      },
    ],
    foundBy: ['paid-invoices-earn-commissions'],
  },
  {
    name: 'an owed refund is recorded without its task',
    changes: [
      {
        file: 'shared/domain/billing/owedRefunds.ts',
        within: 'oweRefunds',
        find: 'await scheduleTasks($transaction, REFUND_KIND, tasks);',
        replace: '',
      },
    ],
    foundBy: ['what-waits-has-a-task'],
  },
  {
    name: 'a task is completed although its run has failed',
    changes: [
      {
        file: 'shared/domain/tasks/runTasks.ts',
        within: 'recordFailure',
        find: 'await writeEnd($task, { runAt: addMilliseconds(now(), getBackoffMs($task.attempts, $kind.backoff)), attempts, reason });',
        replace: 'await completeTask($task);',
      },
    ],
    foundBy: ['what-waits-has-a-task'],
  },
  {
    name: 'the sweep charges a card for every low balance, without a burn as its cause',
    changes: [
      {
        file: AUTO_TOPUP_RULE,
        within: 'buildAutoTopupState',
        find: 'AND (${credits} IS NOT NULL OR a.auto_topup_triggered_at IS NOT NULL)',
        replace: '',
      },
      { file: AUTO_TOPUP_RULE, within: 'FIND_DUE', find: 'AND a.auto_topup_triggered_at IS NOT NULL', replace: '' },
    ],
    foundBy: ['automatic-charges-have-a-cause'],
  },
  {
    name: 'a top-up of unknown outcome counts as failed: the response is 402, and the card is charged',
    changes: [
      {
        file: CREATE,
        within: 'chargeWithAutoTopup',
        find: `if ($topup === 'unknown') throw $unknownError($charge);`,
        replace: '',
      },
    ],
    foundBy: ['no-charge-after-a-rejection'],
  },
  {
    name: 'a charge of unknown outcome is repeated at once, with another idempotency key',
    changes: [
      {
        file: 'shared/gateways/payments/stripePayments.ts',
        find: 'idempotencyKey: `topup-${$order.topupUuid}`',
        replace: 'idempotencyKey: `topup-${Math.random()}`',
      },
      {
        file: AUTO_TOPUPS,
        within: 'chargeAutoTopup',
        find: 'await processor.chargeTopup(',
        replace: `await ((...topup: Parameters<typeof processor.chargeTopup>) =>
          processor.chargeTopup(...topup).catch(() => processor.chargeTopup(...topup)))(`,
      },
    ],
    foundBy: ['charged-once'],
  },
  {
    name: 'an automatic top-up does not grant a month that is due first',
    changes: [
      {
        file: 'shared/domain/credits/renewDuePeriods.ts',
        within: 'withDueGrants',
        find: 'await renewCreditPeriods($transaction, $locked, $at)',
        replace: '$locked',
      },
      {
        file: CREATE,
        within: 'chargeWithDueGrants',
        find: `if ($outcome !== 'insufficient_credits' || !(await grantDueMonths($charge.account_id))) return`,
        replace: 'if ($charge !== null) return',
      },
    ],
    foundBy: ['due-grants-precede-automatic-topups'],
  },
  {
    name: 'an automatic top-up is charged although the customer has paid on a page already',
    changes: [
      {
        file: 'shared/domain/billing/syncPurchases.ts',
        within: 'syncPurchases',
        find: '...$pages.map(async',
        replace: '...$pages.slice($pages.length).map(async',
      },
    ],
    foundBy: ['no-needless-automatic-charge'],
  },
  {
    name: 'a suspension keeps the trigger of an automatic top-up',
    changes: [],
    sql: [
      `CREATE OR REPLACE TRIGGER accounts_clear_auto_topup_trigger BEFORE UPDATE ON accounts FOR EACH ROW
         WHEN (NEW.auto_topup_triggered_at IS NOT NULL
               AND (NEW.balance >= NEW.auto_topup_threshold_credits OR NOT NEW.auto_topup_enabled OR NEW.plan_slug IS NULL
                    OR NEW.auto_topup_threshold_credits <> OLD.auto_topup_threshold_credits))
         EXECUTE FUNCTION clear_auto_topup_trigger()`,
    ],
    foundBy: ['suspension-clears-the-trigger', 'auto-topup-triggers-follow-burns'],
  },
  {
    name: 'a gift code is redeemed without its lock',
    changes: [
      {
        file: 'shared/domain/adjustments/giftCodes.ts',
        within: 'lockRedeemableCode',
        find: 'findOne({ code_hash: hashCode($text) }).forNoKeyUpdate()',
        replace: 'findOne({ code_hash: hashCode($text) })',
      },
    ],
    foundBy: ['gift-codes-are-counted'],
  },
  {
    name: 'credit periods are renewed without a lock',
    changes: [
      {
        file: 'shared/domain/credits/renewDuePeriods.ts',
        within: 'prepareBatch',
        find: 'FOR NO KEY UPDATE OF $a SKIP LOCKED',
        replace: '',
      },
    ],
    sql: [...DROP_LEDGER_KEY_SQL, 'DROP INDEX ledger_entries_effect_key_unique'],
    foundBy: [
      'one-grant-a-month',
      'effects-happen-once',
      'balance-is-the-ledger',
      'buckets-are-the-ledger',
      'ledger-chain-is-unbroken',
      'ledger-is-counted',
    ],
  },
];
