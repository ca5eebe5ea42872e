/** A mutant that no test can detect. */
export interface Explanation {
  file: string;
  /** Text of the line, without indentation. */
  line: string;
  /** `original → replacement`, as the runner prints it; several with the same reason. */
  changes: string[];
  reason: string;
}

/** Explains mutants of a file that have the same reason. @param lines each with its changes. */
const explain = (file: string, reason: string, ...lines: [line: string, ...changes: string[]][]): Explanation[] =>
  lines.map(([line, ...changes]) => ({ file, line, changes, reason }));

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
  ...explain(
    DECIDE,
    EXISTENCE,
    ['AND (SELECT true FROM sessions s', 'true → false'],
    ['AND (SELECT true FROM oauth_grants g', 'true → false'],
  ),
  ...explain(
    DECIDE,
    SHORTCUT,
    ['WHEN r.idempotency_key IS NOT NULL', 'r.idempotency_key IS NOT NULL → true'],
    ['WHEN r.inputs IS NOT NULL', 'r.inputs IS NOT NULL → true'],
    ['WHEN a.spending_limit_count > 0', 'a.spending_limit_count > 0 → true', '> → >='],
  ),
  ...explain(
    CHARGE,
    SHORTCUT,
    ['WHERE c.inputs IS NOT NULL', 'c.inputs IS NOT NULL → true'],
    ['WHERE c.spending_limit_count > 0) d', 'c.spending_limit_count > 0 → true', '> → >='],
  ),
  ...explain(CHARGE, 'The uuids of a request are compared with the list, so that more of them in it change nothing.', [
    'ON g.account_id = ANY (p_accounts) AND g.account_id = r.account_id AND g.uuid = r.uuid);',
    'g.account_id = ANY (p_accounts) → true',
    'AND → or',
    'g.account_id = r.account_id → true',
    'g.uuid = r.uuid → true',
  ]),
  ...explain(CHARGE, PLANNER, [
    'ON p.account_id = ANY (v_accounts) AND p.account_id = c.account_id AND p.credits IS NOT NULL',
    'p.account_id = ANY (v_accounts) → true',
  ]),
  ...explain('shared/domain/credits/lockAccounts.sql', 'A lock that does not wait cannot take part in a deadlock.', [
    'RETURN ARRAY (SELECT a.id FROM accounts a WHERE a.id = ANY (p_accounts) ORDER BY a.id FOR NO KEY UPDATE SKIP LOCKED);',
    'ORDER BY a.id → nothing',
  ]),
  ...explain(FAIL, PLANNER, [
    'WHERE a.id = ANY (v_accounts) AND a.id = sums.account_id',
    'a.id = ANY (v_accounts) → true',
  ]),
  ...explain(COMPLETE, PLANNER, [
    'WHERE a.id = ANY (v_accounts) AND a.id = counts.account_id',
    'a.id = ANY (v_accounts) → true',
  ]),
  ...explain(CANCEL, 'The statements that end the generation or record the request compare the account, too.', [
    `WHERE g.uuid = p_uuid AND g.account_id = p_account AND g.status = 'queued'`,
    'g.account_id = p_account → true',
  ]),
  ...explain(CANCEL, 'The function has locked the account already, so that there is nothing to wait for.', [
    'ARRAY [p_account], ARRAY [p_uuid], p_now, p_files_at, p_canceled, true) f;',
    'true → false',
  ]),
  ...explain(CANCEL, 'The generation with this uuid has been read and locked as one of the account.', [
    'WHERE g.uuid = p_uuid AND g.account_id = p_account',
    'g.account_id = p_account → true',
  ]),
  ...explain(
    WEBHOOKS,
    PLANNER,
    [
      'WHERE d.id = ANY (p_ids) AND d.id = o.id AND d.leased_until = o.leased_until AND d.leased_by = p_leased_by',
      'd.id = ANY (p_ids) → true',
    ],
    ['WHERE e.id = ANY (p_endpoints) AND e.id = result.endpoint_id', 'e.id = ANY (p_endpoints) → true'],
  ),
  ...explain(WEBHOOKS, 'Two leases of a process differ in leased_until.', [
    'WHERE d.id = ANY (p_ids) AND d.id = o.id AND d.leased_until = o.leased_until AND d.leased_by = p_leased_by',
    'd.id = o.id → true',
  ]),
  ...explain(WEBHOOKS, 'A statement updates a row once: those with an attempt have been updated before.', [
    'AND o.attempt IS NULL',
    'o.attempt IS NULL → true',
  ]),
  ...explain(
    WEBHOOKS,
    INDEX,
    [`WHERE endpoint_id = e.id AND status = 'pending' AND leased_until > p_now`, `status = 'pending' → true`],
    [`WHERE endpoint_id = endpoint.id AND status = 'pending' AND leased_until <= p_now`, `status = 'pending' → true`],
    [`WHERE endpoint_id = endpoint.id AND status = 'pending' AND leased_until IS NULL`, `status = 'pending' → true`],
    [`WHERE endpoint_id = due.id AND status = 'pending' AND leased_until > p_now`, `status = 'pending' → true`],
    [`WHERE endpoint_id = due.id AND status = 'pending' AND leased_until IS NULL`, `status = 'pending' → true`],
  ),
  ...explain(
    WEBHOOKS,
    ORDER,
    ['ORDER BY leased_until LIMIT p_ahead * p_concurrency) leased) flight,', 'ORDER BY leased_until → nothing'],
    ['ORDER BY leased_until LIMIT p_ahead * p_concurrency)', 'ORDER BY leased_until → nothing'],
    [
      'ORDER BY leased_until, next_attempt_at, id LIMIT p_ahead * p_concurrency)) available',
      'ORDER BY leased_until, next_attempt_at, id → nothing',
    ],
    ['ORDER BY leased_until LIMIT 1) AS ends_at,', 'ORDER BY leased_until → nothing'],
    [
      'ORDER BY leased_until, next_attempt_at LIMIT 1) AS due_at) first',
      'ORDER BY leased_until, next_attempt_at → nothing',
    ],
  ),
];
