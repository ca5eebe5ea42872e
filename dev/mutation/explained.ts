/** A mutant that no test can detect. */
export interface Explanation {
  file: string;
  /** Text of the line, without indentation. */
  line: string;
  /** `original → replacement`, as the runner prints it; several with the same reason. */
  changes: string[];
  reason: string;
}

const DECIDE = 'shared/domain/generations/decideCreates.sql';
const CHARGE = 'shared/domain/generations/chargeGenerations.sql';

const FAIL = 'shared/domain/generations/execution/failGenerations.sql';
const COMPLETE = 'shared/domain/generations/execution/completeGenerations.sql';
const CANCEL = 'shared/domain/generations/execution/cancelGeneration.sql';

const WEBHOOKS = 'shared/domain/webhooks/recordAndClaim.sql';

const EXISTENCE = 'Only the existence of the row counts, which is tested with IS NULL.';
const SHORTCUT = 'Skips a lookup that finds nothing then.';
const PLANNER = 'Repeats the ids of the accounts for the planner; the comparison beside it decides.';
const INDEX = 'Names the partial index. A constraint says the same of deliveries that are leased or wait.';
const ORDER = 'The index has this order already; the clause keeps the planner from reading another one.';

/** Mutants that behave as the original does, or differ only in speed. The runner counts them as explained. */
export const EXPLAINED: readonly Explanation[] = [
  { file: DECIDE, line: 'AND (SELECT true FROM sessions s', changes: ['true → false'], reason: EXISTENCE },
  { file: DECIDE, line: 'AND (SELECT true FROM oauth_grants g', changes: ['true → false'], reason: EXISTENCE },
  {
    file: DECIDE,
    line: 'WHEN r.idempotency_key IS NOT NULL',
    changes: ['r.idempotency_key IS NOT NULL → true'],
    reason: SHORTCUT,
  },
  { file: DECIDE, line: 'WHEN r.inputs IS NOT NULL', changes: ['r.inputs IS NOT NULL → true'], reason: SHORTCUT },
  {
    file: DECIDE,
    line: 'WHEN a.spending_limit_count > 0',
    changes: ['a.spending_limit_count > 0 → true', '> → >='],
    reason: SHORTCUT,
  },
  {
    file: CHARGE,
    line: 'WHERE c.inputs IS NOT NULL',
    changes: ['c.inputs IS NOT NULL → true'],
    reason: SHORTCUT,
  },
  {
    file: CHARGE,
    line: 'ON g.account_id = ANY (p_accounts) AND g.account_id = r.account_id AND g.uuid = r.uuid);',
    changes: [
      'g.account_id = ANY (p_accounts) → true',
      'AND → or',
      'g.account_id = r.account_id → true',
      'g.uuid = r.uuid → true',
    ],
    reason: 'The uuids of a request are compared with the list, so that more of them in it change nothing.',
  },
  {
    file: CHARGE,
    line: 'ON p.account_id = ANY (v_accounts) AND p.account_id = c.account_id AND p.credits IS NOT NULL',
    changes: ['p.account_id = ANY (v_accounts) → true'],
    reason: PLANNER,
  },
  {
    file: CHARGE,
    line: 'WHERE c.spending_limit_count > 0) d',
    changes: ['c.spending_limit_count > 0 → true', '> → >='],
    reason: SHORTCUT,
  },
  {
    file: 'shared/domain/credits/lockAccounts.sql',
    line: 'RETURN ARRAY (SELECT a.id FROM accounts a WHERE a.id = ANY (p_accounts) ORDER BY a.id FOR NO KEY UPDATE SKIP LOCKED);',
    changes: ['ORDER BY a.id → nothing'],
    reason: 'A lock that does not wait cannot take part in a deadlock.',
  },
  {
    file: FAIL,
    line: 'WHERE a.id = ANY (v_accounts) AND a.id = sums.account_id',
    changes: ['a.id = ANY (v_accounts) → true'],
    reason: PLANNER,
  },
  {
    file: COMPLETE,
    line: 'WHERE a.id = ANY (v_accounts) AND a.id = counts.account_id',
    changes: ['a.id = ANY (v_accounts) → true'],
    reason: PLANNER,
  },
  {
    file: CANCEL,
    line: `WHERE g.uuid = p_uuid AND g.account_id = p_account AND g.status = 'queued'`,
    changes: ['g.account_id = p_account → true'],
    reason: 'The statements that end the generation or record the request compare the account, too.',
  },
  {
    file: CANCEL,
    line: 'ARRAY [p_account], ARRAY [p_uuid], p_now, p_files_at, p_canceled, true) f;',
    changes: ['true → false'],
    reason: 'The function has locked the account already, so that there is nothing to wait for.',
  },
  {
    file: CANCEL,
    line: 'WHERE g.uuid = p_uuid AND g.account_id = p_account',
    changes: ['g.account_id = p_account → true'],
    reason: 'The generation with this uuid has been read and locked as one of the account.',
  },
  {
    file: WEBHOOKS,
    line: 'WHERE d.id = ANY (p_ids) AND d.id = o.id AND d.leased_until = o.leased_until AND d.leased_by = p_leased_by',
    changes: ['d.id = ANY (p_ids) → true'],
    reason: PLANNER,
  },
  {
    file: WEBHOOKS,
    line: 'WHERE d.id = ANY (p_ids) AND d.id = o.id AND d.leased_until = o.leased_until AND d.leased_by = p_leased_by',
    changes: ['d.id = o.id → true'],
    reason: 'Two leases of a process differ in leased_until.',
  },
  {
    file: WEBHOOKS,
    line: 'AND o.attempt IS NULL',
    changes: ['o.attempt IS NULL → true'],
    reason: 'A statement updates a row once: those with an attempt have been updated before.',
  },
  {
    file: WEBHOOKS,
    line: 'WHERE e.id = ANY (p_endpoints) AND e.id = result.endpoint_id',
    changes: ['e.id = ANY (p_endpoints) → true'],
    reason: PLANNER,
  },
  {
    file: WEBHOOKS,
    line: `WHERE endpoint_id = e.id AND status = 'pending' AND leased_until > p_now`,
    changes: [`status = 'pending' → true`],
    reason: INDEX,
  },
  {
    file: WEBHOOKS,
    line: 'ORDER BY leased_until LIMIT p_ahead * p_concurrency) leased) flight,',
    changes: ['ORDER BY leased_until → nothing'],
    reason: ORDER,
  },
  {
    file: WEBHOOKS,
    line: `WHERE endpoint_id = endpoint.id AND status = 'pending' AND leased_until <= p_now`,
    changes: [`status = 'pending' → true`],
    reason: INDEX,
  },
  {
    file: WEBHOOKS,
    line: `WHERE endpoint_id = endpoint.id AND status = 'pending' AND leased_until IS NULL`,
    changes: [`status = 'pending' → true`],
    reason: INDEX,
  },
  {
    file: WEBHOOKS,
    line: 'ORDER BY leased_until LIMIT p_ahead * p_concurrency)',
    changes: ['ORDER BY leased_until → nothing'],
    reason: ORDER,
  },
  {
    file: WEBHOOKS,
    line: 'ORDER BY leased_until, next_attempt_at, id LIMIT p_ahead * p_concurrency)) available',
    changes: ['ORDER BY leased_until, next_attempt_at, id → nothing'],
    reason: ORDER,
  },
  {
    file: WEBHOOKS,
    line: `WHERE endpoint_id = due.id AND status = 'pending' AND leased_until > p_now`,
    changes: [`status = 'pending' → true`],
    reason: INDEX,
  },
  {
    file: WEBHOOKS,
    line: 'ORDER BY leased_until LIMIT 1) AS ends_at,',
    changes: ['ORDER BY leased_until → nothing'],
    reason: ORDER,
  },
  {
    file: WEBHOOKS,
    line: `WHERE endpoint_id = due.id AND status = 'pending' AND leased_until IS NULL`,
    changes: [`status = 'pending' → true`],
    reason: INDEX,
  },
  {
    file: WEBHOOKS,
    line: 'ORDER BY leased_until, next_attempt_at LIMIT 1) AS due_at) first',
    changes: ['ORDER BY leased_until, next_attempt_at → nothing'],
    reason: ORDER,
  },
];
