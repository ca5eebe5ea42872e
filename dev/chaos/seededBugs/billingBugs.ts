import type { SeededBug } from './seededBug.ts';

const CREATE = 'shared/domain/generations/create.ts';
const AUTO_TOPUPS = 'shared/domain/billing/autoTopups.ts';
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
        file: AUTO_TOPUPS,
        within: 'isIntervalOver',
        find: '$claimedAt === null || $claimedAt <= $limit(',
        replace: '$claimedAt === null || $claimedAt <= $limit($claimedAt, 1) || $claimedAt <= $limit(',
      },
    ],
    foundBy: ['automatic-topups-are-an-hour-apart'],
  },
  {
    name: 'a webhook event is marked as applied outside its transaction, and nothing reconciles it',
    changes: [
      {
        file: 'shared/domain/billing/paymentEvents.ts',
        within: 'applyEvent',
        find: 'await markEventApplied($eventId); return []; } return withAccountLock($accountId,',
        replace:
          'await markEventApplied($eventId); return []; } await markEventApplied($eventId); return withAccountLock($accountId,',
      },
      {
        file: 'shared/domain/billing/paymentEvents.ts',
        within: 'applyEvent',
        find: '(await markEventApplied($eventId, $transaction))',
        replace: 'true',
      },
      { file: REGISTRY, find: 'singleFlight(reconcilePayments)', replace: 'async () => {}' },
      { file: REGISTRY, find: 'singleFlight(runBillingMaintenance)', replace: 'async () => {}' },
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
        file: 'shared/domain/billing/eventSnapshots.ts',
        within: 'applySnapshots',
        find: 'await applyCommission($transaction, $snapshot)',
        replace: 'undefined',
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
    name: 'the billing maintenance skips owed refunds',
    changes: [
      {
        file: 'shared/domain/billing/maintenance.ts',
        within: 'runBillingMaintenance',
        find: 'issueDueRefunds,',
        replace: '',
      },
    ],
    foundBy: ['owed-refunds-are-paid', 'owed-refunds-are-attempted'],
  },
  {
    name: 'the sweep charges a card for every low balance, without a burn as its cause',
    changes: [
      { file: AUTO_TOPUPS, within: 'chargeTriggeredAutoTopup', find: '$triggeredAt !== null &&', replace: '' },
      {
        file: AUTO_TOPUPS,
        within: 'sweepAutoTopups',
        find: `.whereNotNull('auto_topup_triggered_at')`,
        replace: '',
      },
    ],
    foundBy: ['automatic-charges-have-a-cause'],
  },
  {
    name: 'a top-up of unknown outcome counts as failed: the response is 402, and the card is charged',
    changes: [
      {
        file: CREATE,
        within: 'chargeWithAutoTopup',
        find: `if ($topup === 'unknown') throw $unknownError($debit);`,
        replace: '',
      },
      {
        file: CREATE,
        within: 'chargeWithAutoTopup',
        find: `if ($topup === 'none') return`,
        replace: `if ($topup !== 'credited') return`,
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
    name: 'credit periods are renewed without a lock',
    changes: [
      {
        file: 'shared/domain/credits/periods.ts',
        within: 'prepareRenewal',
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
