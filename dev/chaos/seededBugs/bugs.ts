/** A line of the built service, and what stands in its place. */
export interface CodeChange {
  /** Of the build. */
  file: string;
  /** Occurs in it so many times, each of which is replaced; once unless said. */
  find: string;
  times?: number;
  replace: string;
}

/** A mistake that somebody could make, to see that it is found. */
export interface SeededBug {
  name: string;
  changes: CodeChange[];
  /** Run in the migrated database: what stands behind the code as a second guard is taken away as well. */
  sql?: string[];
  /** The invariants that may find it: what else is broken in a run proves nothing. */
  foundBy: string[];
  /** What their finding must say, where they find other things as well. */
  detailPattern?: RegExp;
}

const CLAIM = 'shared/domain/generations/execution/claim.js';
const SETTLE = 'shared/domain/generations/execution/complete.js';
const CHARGE = 'shared/domain/generations/charge.js';
const AUTO_TOPUPS = 'shared/domain/billing/autoTopups.js';

/** The numbers of a ledger are one each: whoever moves credits on what they read too early would be refused by that. */
const DROP_LEDGER_KEY_SQL = [
  'ALTER TABLE ledger_entries DROP CONSTRAINT ledger_entries_pkey',
  'CREATE INDEX ledger_entries_listed ON ledger_entries (account_id, number)',
];

export const SEEDED_BUGS: readonly SeededBug[] = [
  {
    name: 'a unique index dropped: that of Idempotency-Key',
    changes: [],
    sql: ['DROP INDEX generations_idempotency_key_unique'],
    foundBy: ['same-key-same-answer', 'one-order-one-generation', 'one-generation-an-idempotency-key'],
  },
  {
    name: 'the status guard removed: whoever ends a failed job refunds it',
    changes: [{ file: SETTLE, find: `AND g.status = 'queued'`, times: 3, replace: '' }],
    sql: ['DROP INDEX ledger_entries_generation_entry_type_unique'],
    foundBy: ['one-refund-a-failure', 'slots-are-what-is-queued', 'end-is-final'],
  },
  {
    name: 'the outbox sweep off',
    changes: [
      {
        file: 'worker/registry.js',
        find: `'generation.sweep': () => sweep(),`,
        replace: `'generation.sweep': async () => {},`,
      },
    ],
    foundBy: ['all-settled', 'nothing-past-its-deadline'],
    detailPattern: /generation/,
  },
  {
    name: 'a lock skipped: credits are moved on a row that others write',
    changes: [{ file: 'shared/domain/credits/ledger.js', find: '.forNoKeyUpdate()', replace: '' }],
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
    name: "the hour's claim removed: automatic top-ups whenever the balance is low",
    changes: [
      {
        file: AUTO_TOPUPS,
        find: 'claimedAt === null || claimedAt <= addMilliseconds(at, -AUTO_TOPUP_INTERVAL_MS)',
        replace: 'true || claimedAt',
      },
    ],
    foundBy: ['automatic-topups-are-an-hour-apart'],
  },
  {
    name: 'the webhook mark outside its transaction, and nobody looks again',
    changes: [
      {
        file: 'shared/domain/billing/paymentEvents.js',
        find: 'await carryOut(effect, (transaction) => markApplied(eventId, transaction));',
        replace: '{ await markApplied(eventId); await carryOut(effect); }',
      },
      { file: 'worker/registry.js', find: 'alone(reconcilePayments)', replace: 'async () => {}' },
      { file: 'worker/registry.js', find: 'alone(keepBillingUp)', replace: 'async () => {}' },
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
    name: 'a charge whose answer was lost counts as refused',
    changes: [
      { file: CHARGE, find: 'attempt === CHARGE_ATTEMPTS ||', replace: 'true ||' },
      { file: CHARGE, find: 'throw error;', times: 2, replace: `return charges.map(() => 'model_unavailable');` },
    ],
    foundBy: ['refused-is-not-charged'],
  },
  {
    name: 'a charge whose answer was lost counts as made',
    changes: [
      {
        file: CHARGE,
        find: 'await (isLost ? chargedInTime(lookUntil, rest) : chargedAmong(rest))',
        replace: 'rest.map(({ uuid }) => uuid)',
      },
    ],
    foundBy: ['created-is-there'],
  },
  {
    name: 'a job is claimed whoever has it',
    changes: [
      {
        file: CLAIM,
        find: `AND (g.leased_until IS NULL OR g.leased_until <= :now)`,
        replace: '',
      },
      {
        file: CLAIM,
        find: 'unconfirmed_submits = g.unconfirmed_submits + cast(g.submit_started_at IS NOT NULL AS int),',
        replace: '',
      },
    ],
    foundBy: ['run-once'],
  },
  {
    name: 'an acceptance that was recorded and whose answer was lost counts as too late, and the run is cancelled',
    changes: [
      {
        file: CLAIM,
        find: 'AND (g.upstream_handle IS NULL OR (g.upstream_handle = r.handle AND g.upstream = r.upstream))',
        replace: 'AND g.upstream_handle IS NULL',
      },
    ],
    foundBy: ['cancelled-was-not-wanted'],
  },
  {
    name: 'the sweep skips owed refunds',
    changes: [{ file: 'shared/domain/billing/maintenance.js', find: ', settleOwedRefunds', replace: '' }],
    foundBy: ['owed-refunds-are-paid', 'owed-refunds-are-attempted'],
  },
  {
    name: 'the sweep charges a card for every low balance, without a burn',
    changes: [
      { file: AUTO_TOPUPS, find: 'triggeredAt !== null && balance < threshold', replace: 'balance < threshold' },
      { file: AUTO_TOPUPS, find: ".whereNotNull('auto_topup_triggered_at')", replace: '' },
    ],
    foundBy: ['automatic-charges-have-a-cause'],
  },
  {
    name: 'a top-up of unknown outcome counts as none: 402, and the card is charged',
    changes: [
      {
        file: 'shared/domain/generations/create.js',
        find: "topup === 'unknown'",
        replace: 'false',
      },
      {
        file: 'shared/domain/generations/create.js',
        find: "topup === 'none'",
        replace: "topup !== 'credited'",
      },
    ],
    foundBy: ['no-charge-after-a-refusal'],
  },
  {
    name: 'a revoked key is still good',
    changes: [
      {
        file: 'shared/domain/accounts/apiKeys.js',
        find: 'WHERE k.key_hash = ANY (:hashes) AND k.revoked_at IS NULL',
        replace: 'WHERE k.key_hash = ANY (:hashes)',
      },
    ],
    foundBy: ['revoked-key-is-refused'],
  },
  {
    name: 'a job that succeeded keeps its slot',
    changes: [
      {
        file: SETTLE,
        find: 'SET in_flight = owner.in_flight - jobs.ended',
        replace: 'SET in_flight = owner.in_flight',
      },
    ],
    foundBy: ['slots-are-what-is-queued'],
  },
  {
    name: 'the parallel limit unchecked',
    changes: [{ file: CHARGE, find: 'WHEN a.in_flight >= a.parallel_limit', replace: 'WHEN false' }],
    foundBy: ['slots-within-the-limit'],
  },
  {
    name: 'a charge of unknown outcome is repeated at once, under another key',
    changes: [
      {
        file: 'shared/gateways/payments/stripeProcessor.js',
        find: 'idempotencyKey: `topup-${topupUuid}`',
        replace: 'idempotencyKey: `topup-${Math.random()}`',
      },
      {
        file: AUTO_TOPUPS,
        find: 'await processor.chargeTopup({ customerId, paymentMethodId, topupUuid, amountCents });',
        replace: `await twice(() => processor.chargeTopup({ customerId, paymentMethodId, topupUuid, amountCents }));
            async function twice(charge) { try { return await charge(); } catch { return await charge(); } }`,
      },
    ],
    foundBy: ['charged-once'],
  },
  {
    name: 'a refund goes into the wrong bucket',
    changes: [
      {
        file: SETTLE,
        find: 'plan_credits = owner.plan_credits + jobs.plan_credits,',
        replace: 'plan_credits = owner.plan_credits,',
      },
      {
        file: SETTLE,
        find: 'topup_credits = owner.topup_credits + jobs.credits - jobs.plan_credits,',
        replace: 'topup_credits = owner.topup_credits + jobs.credits,',
      },
    ],
    foundBy: ['buckets-are-the-ledger'],
  },
  {
    name: 'months are granted by whoever comes, without a lock',
    changes: [{ file: 'shared/domain/credits/periods.js', find: 'FOR NO KEY UPDATE OF a SKIP LOCKED', replace: '' }],
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
