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

const EXISTENCE = 'Only the existence of the row counts, which is tested with IS NULL.';
const SHORTCUT = 'Skips a lookup that finds nothing then.';
const PLANNER = 'Repeats the ids of the accounts for the planner; the comparison beside it decides.';

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
];
