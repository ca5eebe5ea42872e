import type { SeededBug } from './seededBug.ts';

const CLAIM = 'shared/domain/generations/execution/claim.ts';
const CALLBACKS = 'shared/domain/generations/execution/callbacks.ts';
const FAIL_OVER = 'shared/domain/generations/execution/failOver.ts';
const COMPLETE = 'shared/domain/generations/execution/completeGenerations.sql';
const FAIL = 'shared/domain/generations/execution/failGenerations.sql';
const CANCEL = 'shared/domain/generations/execution/cancelGeneration.sql';
const DECIDE = 'shared/domain/generations/decideCreates.sql';
const CHARGE = 'shared/domain/generations/charge.ts';
const EXPIRE_UPLOADS = 'shared/domain/uploads/expireUploads.ts';
const REGISTRY = 'worker/registry.ts';

/** Bugs in creating, charging, running and ending generations. */
export const GENERATION_BUGS: readonly SeededBug[] = [
  {
    name: 'the charge does not look for the Idempotency-Key, and no index is unique by it',
    changes: [{ file: DECIDE, find: 'WHEN r.idempotency_key IS NOT NULL', replace: 'WHEN false' }],
    sql: ['DROP INDEX generations_idempotency_key_unique'],
    foundBy: ['same-key-same-response', 'one-generation-per-create', 'one-generation-an-idempotency-key'],
  },
  {
    name: 'the charge does not check whether the account is suspended',
    changes: [
      {
        file: DECIDE,
        find: `WHEN a.suspended_at IS NOT NULL THEN 'account_suspended'`,
        replace: '',
      },
    ],
    foundBy: ['suspended-creates-nothing', 'suspended-account-is-rejected'],
  },
  {
    name: 'a suspension is not recorded in the audit log',
    changes: [
      {
        file: 'shared/domain/staff/suspension.ts',
        within: 'suspendAccount',
        find: 'await recordAuditEntry($transaction, $actor, {',
        replace: 'void ({',
      },
    ],
    foundBy: ['suspensions-are-audited'],
  },
  {
    name: 'a generation that has ended can end again, and is refunded again',
    changes: [COMPLETE, FAIL].map((file) => ({ file, find: `AND g.status = 'queued'`, replace: '' })),
    sql: ['DROP INDEX ledger_entries_generation_entry_type_unique'],
    foundBy: ['one-refund-a-failure', 'slots-are-what-is-queued', 'end-is-final'],
  },
  {
    name: 'a cancellation also ends a generation that has ended, and refunds it again',
    changes: [
      { file: CANCEL, find: `AND g.status = 'queued'`, replace: '' },
      {
        file: FAIL,
        find: `AND g.status = 'queued'`,
        replace: `AND (g.status = 'queued' OR r.message = p_canceled)`,
      },
    ],
    sql: ['DROP INDEX ledger_entries_generation_entry_type_unique'],
    foundBy: ['one-refund-a-failure', 'slots-are-what-is-queued', 'end-is-final'],
  },
  {
    name: 'a cancellation refunds a generation that was submitted, without a confirmation of the upstream',
    changes: [
      {
        file: CANCEL,
        find: `NOT v_generation.is_submitted AND v_generation.unconfirmed_submits = 0
               AND v_generation.submit_started_at IS NOT DISTINCT FROM p_claimed_at`,
        replace: 'true',
      },
    ],
    foundBy: ['canceled-generations-did-not-run'],
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
    name: 'a charge whose response was lost is reported as rejected',
    changes: [
      {
        file: CHARGE,
        within: 'resolveLostAnswer',
        find: 'callChargeFunction($charges, { waits: true }).catch(() => null)',
        replace: 'Promise.resolve(null)',
      },
      {
        file: CHARGE,
        within: 'resolveLostAnswer',
        find: `$outcome : 'unknown'`,
        replace: `$outcome : 'model_unavailable'`,
      },
    ],
    foundBy: ['rejected-is-not-charged'],
  },
  {
    name: 'a charge whose response was lost is reported as accepted',
    changes: [
      {
        file: CHARGE,
        within: 'resolveLostAnswer',
        find: 'const $outcome = $outcomes?.[$index];',
        replace: `const $outcome = 'accepted';`,
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
    name: 'a generation is tried elsewhere after each run that fails',
    changes: [{ file: FAIL_OVER, within: 'FAIL_OVER', find: 'AND failed_over_at IS NULL', replace: '' }],
    foundBy: ['run-once'],
  },
  {
    name: 'a generation that is tried elsewhere also ends with its failed run',
    changes: [
      {
        file: FAIL_OVER,
        within: 'endFailedRun',
        find: 'if (order.length > 0 && (await failOver($generation, $order, $message))) return;',
        replace: 'if (order.length > 0) await failOver($generation, $order, $message);',
      },
      { file: FAIL, find: 'r.run IS NULL OR', replace: 'true OR' },
    ],
    foundBy: ['ended-by-its-last-run'],
  },
  {
    name: 'a recorded submit whose response was lost counts as late, and its run is canceled',
    changes: [
      {
        file: 'shared/domain/generations/execution/submit.ts',
        within: 'RECORD_ACCEPTED',
        find: 'OR ($g.upstream_handle = $r.handle AND $g.upstream = $r.upstream)',
        replace: '',
      },
    ],
    foundBy: ['canceled-runs-were-obsolete'],
  },
  {
    name: 'a revoked key is still accepted',
    changes: [
      {
        file: 'shared/domain/accounts/credentials.ts',
        find: "'(k.revoked_at IS NULL OR k.expires_at <= k.revoked_at)'",
        replace: "'true'",
      },
      {
        file: 'shared/domain/accounts/credentials.ts',
        find: "'hasExpired', k.revoked_at IS NOT NULL OR k.expires_at <= :now",
        replace: "'hasExpired', k.expires_at <= :now",
      },
      { file: 'shared/domain/generations/decideCreates.sql', find: 'AND k.revoked_at IS NULL', replace: '' },
    ],
    foundBy: ['revoked-key-is-rejected'],
  },
  {
    name: 'a generation that succeeded keeps its slot',
    changes: [
      {
        file: COMPLETE,
        find: 'in_flight = a.in_flight - counts.ended',
        replace: 'in_flight = a.in_flight',
      },
    ],
    foundBy: ['slots-are-what-is-queued'],
  },
  {
    name: 'the claim does not compare live and test generations',
    changes: [{ file: CLAIM, within: 'IS_ROUTED', find: 'AND $route.is_test = $g.is_test', replace: '' }],
    sql: ['ALTER TABLE generations DROP CONSTRAINT generations_test_upstream_check'],
    foundBy: ['test-generations-are-separate'],
  },
  {
    name: 'a call-back of an upstream is believed without asking the upstream',
    changes: [
      {
        file: CALLBACKS,
        find: "import { enqueuePoll } from '../../../queues/enqueue.ts';",
        replace:
          "import { enqueuePoll } from '../../../queues/enqueue.ts';\nimport { failGeneration } from './completeOrFail.ts';",
      },
      {
        file: CALLBACKS,
        within: 'receiveCallback',
        find: 'await makePollDue($target, $jobId);',
        replace: `const event = JSON.parse(body.toString()) as { status: string; payload: { detail: string } };
          if (event.status === 'ERROR')
            await failGeneration({ uuid: $target.uuid, account_id: $target.accountId, message: event.payload.detail });
          else await makePollDue($target, $jobId);`,
      },
    ],
    foundBy: ['call-backs-are-not-believed'],
  },
  {
    name: 'the parallel limit is not checked',
    changes: [
      {
        file: DECIDE,
        find: 'WHEN a.in_flight >= a.parallel_limit',
        replace: 'WHEN false',
      },
    ],
    foundBy: ['slots-within-the-limit'],
  },
  {
    name: 'a generation records another catalog than the one of its price',
    changes: [
      {
        file: 'shared/domain/generations/create.ts',
        within: 'buildChargeRequest',
        find: 'catalog_id: getCatalog().id,',
        replace: 'catalog_id: null,',
      },
    ],
    foundBy: ['priced-and-run-by-one-catalog'],
  },
  {
    name: 'an image is deleted a day after its last use, although a generation has it',
    changes: [
      {
        file: EXPIRE_UPLOADS,
        within: 'expireUploads',
        find: 'await runInBatches(KEEP_USED, { now: $at, later: addMilliseconds($at, UPLOAD_RETENTION_MS) });',
        replace: '',
      },
      { file: EXPIRE_UPLOADS, within: 'DELETE_EXPIRED', find: 'AND NOT ${IS_KEPT}', replace: '' },
    ],
    foundBy: ['generations-have-their-images'],
  },
  {
    name: 'a refund goes into the wrong bucket',
    changes: [
      {
        file: FAIL,
        find: 'plan_credits = a.plan_credits + sums.plan_credits,',
        replace: 'plan_credits = a.plan_credits,',
      },
      {
        file: FAIL,
        find: 'topup_credits = a.topup_credits + sums.credits - sums.plan_credits,',
        replace: 'topup_credits = a.topup_credits + sums.credits,',
      },
    ],
    foundBy: ['buckets-are-the-ledger'],
  },
];
