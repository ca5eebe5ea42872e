import type { CodeChange } from './codeChange.ts';

/** A realistic mistake, built into a copy of the service to prove that chaos detects it. */
export interface SeededBug {
  name: string;
  changes: CodeChange[];
  /** Statements for the migrated database that remove the second line of defence, such as a unique index. */
  sql?: string[];
  /** The invariants that may detect it. Other violations in the same run prove nothing. */
  foundBy: string[];
  /** Limits `foundBy` to violations whose subject and detail match. */
  detailPattern?: RegExp;
}

const CLAIM = 'shared/domain/generations/execution/claim.ts';
const COMPLETE = 'shared/domain/generations/execution/complete.ts';
const CHARGE = 'shared/domain/generations/charge.ts';
const CREATE = 'shared/domain/generations/create.ts';
const AUTO_TOPUPS = 'shared/domain/billing/autoTopups.ts';
const REGISTRY = 'worker/registry.ts';

/** Ledger numbers are unique per account: without this, the key would reject writes that are based on a stale read. */
const DROP_LEDGER_KEY_SQL = [
  'ALTER TABLE ledger_entries DROP CONSTRAINT ledger_entries_pkey',
  'CREATE INDEX ledger_entries_listed ON ledger_entries (account_id, number)',
];

export const SEEDED_BUGS: readonly SeededBug[] = [
  {
    name: 'the unique index of Idempotency-Key is missing',
    changes: [],
    sql: ['DROP INDEX generations_idempotency_key_unique'],
    foundBy: ['same-key-same-response', 'one-generation-per-create', 'one-generation-an-idempotency-key'],
  },
  {
    name: 'a generation that has ended can end again, and is refunded again',
    changes: ['LOCK_OWNERS', 'COMPLETE_GENERATIONS', 'FAIL_GENERATIONS'].map((within) => ({
      file: COMPLETE,
      within,
      find: `AND $g.status = 'queued'`,
      replace: '',
    })),
    sql: ['DROP INDEX ledger_entries_generation_entry_type_unique'],
    foundBy: ['one-refund-a-failure', 'slots-are-what-is-queued', 'end-is-final'],
  },
  {
    name: 'the generation sweep does nothing',
    changes: [
      {
        file: REGISTRY,
        find: `'generation.sweep': () => $sweep(),`,
        replace: `'generation.sweep': async () => {},`,
      },
    ],
    foundBy: ['all-settled', 'nothing-past-its-deadline'],
    detailPattern: /generation/,
  },
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
        within: 'claimAutoTopup',
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
        find: 'return withAccountLock($accountId,',
        replace: 'await markEventApplied($eventId); return withAccountLock($accountId,',
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
    name: 'a charge whose response was lost is reported as rejected',
    changes: [
      {
        file: CHARGE,
        within: 'chargeExactlyOnce',
        find: '$attempt === CHARGE_ATTEMPTS ||',
        replace: '$attempt > 0 ||',
      },
      {
        file: CHARGE,
        within: 'chargeExactlyOnce',
        find: `$outcomes.set($uuid, 'unknown')`,
        replace: `$outcomes.set($uuid, 'model_unavailable')`,
      },
    ],
    foundBy: ['rejected-is-not-charged'],
  },
  {
    name: 'a charge whose response was lost is reported as accepted',
    changes: [
      {
        file: CHARGE,
        within: 'chargeExactlyOnce',
        find: 'await ($isLost ? $findWithin($deadline, $remaining) : $find($remaining))',
        replace: 'await Promise.resolve($remaining.map(({ uuid }) => uuid))',
      },
    ],
    foundBy: ['created-exists'],
  },
  {
    name: 'a generation is claimed while another worker holds its lease',
    changes: [
      {
        file: CLAIM,
        within: 'IS_CLAIMABLE',
        find: 'AND ($g.leased_until IS NULL OR $g.leased_until <= :now)',
        replace: '',
      },
      {
        file: CLAIM,
        within: 'CLAIM_UPDATE',
        find: 'unconfirmed_submits = $g.unconfirmed_submits + cast($g.submit_started_at IS NOT NULL AS int),',
        replace: '',
      },
    ],
    foundBy: ['run-once'],
  },
  {
    name: 'a recorded submit whose response was lost counts as late, and its run is canceled',
    changes: [
      {
        file: 'shared/domain/generations/execution/submitResult.ts',
        within: 'RECORD_ACCEPTED',
        find: 'AND ($g.upstream_handle IS NULL OR ($g.upstream_handle = $r.handle AND $g.upstream = $r.upstream))',
        replace: 'AND $g.upstream_handle IS NULL',
      },
    ],
    foundBy: ['canceled-runs-were-obsolete'],
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
    name: 'a revoked key is still accepted',
    changes: [
      {
        file: 'shared/domain/accounts/apiKeys.ts',
        within: 'FIND_KEY_OWNERS',
        find: 'AND $k.revoked_at IS NULL',
        replace: '',
      },
    ],
    foundBy: ['revoked-key-is-rejected'],
  },
  {
    name: 'a generation that succeeded keeps its slot',
    changes: [
      {
        file: COMPLETE,
        within: 'COMPLETE_GENERATIONS',
        find: 'in_flight = $owner.in_flight - $counts.$ended',
        replace: 'in_flight = $owner.in_flight',
      },
    ],
    foundBy: ['slots-are-what-is-queued'],
  },
  {
    name: 'the parallel limit is not checked',
    changes: [
      {
        file: CHARGE,
        within: 'prepareChargeStatement',
        find: 'WHEN $a.in_flight >= $a.parallel_limit',
        replace: 'WHEN false',
      },
    ],
    foundBy: ['slots-within-the-limit'],
  },
  {
    name: 'a charge of unknown outcome is repeated at once, with another idempotency key',
    changes: [
      {
        file: 'shared/gateways/payments/stripePayments.ts',
        find: 'idempotencyKey: `topup-${$topupUuid}`',
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
    name: 'a refund goes into the wrong bucket',
    changes: [
      {
        file: COMPLETE,
        within: 'FAIL_GENERATIONS',
        find: 'plan_credits = $owner.plan_credits + $counts.plan_credits,',
        replace: 'plan_credits = $owner.plan_credits,',
      },
      {
        file: COMPLETE,
        within: 'FAIL_GENERATIONS',
        find: 'topup_credits = $owner.topup_credits + $counts.credits - $counts.plan_credits,',
        replace: 'topup_credits = $owner.topup_credits + $counts.credits,',
      },
    ],
    foundBy: ['buckets-are-the-ledger'],
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
