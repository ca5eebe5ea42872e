import type { SeededBug } from './seededBug.ts';

const CHARGE_LIMITS = 'shared/domain/spendingLimits/chargeLimits.ts';

/** Bugs in spending limits, and in the access of applications. */
export const LIMIT_BUGS: readonly SeededBug[] = [
  {
    name: 'the spending limit is read before its row is locked',
    changes: [
      {
        file: CHARGE_LIMITS,
        within: 'DECIDE_LIMITS',
        find: 'FOR NO KEY UPDATE OF l',
        replace: '',
      },
    ],
    foundBy: ['spending-limits-match-generations', 'spending-limits-are-kept'],
  },
  {
    name: 'the limit of an application is not checked',
    changes: [
      {
        file: CHARGE_LIMITS,
        within: 'DECIDE_LIMITS',
        find: '(l.key_number = $r.api_key_number OR l.client_id = $r.oauth_client_id)',
        replace: 'l.key_number = $r.api_key_number',
      },
    ],
    foundBy: ['spending-limits-match-generations', 'spending-limits-are-kept'],
  },
  {
    name: 'the tokens of a disconnected application are still accepted',
    changes: [
      {
        file: 'shared/domain/oauth/grants.ts',
        within: 'FIND_ACTIVE_GRANTS',
        find: 'AND $g.revoked_at IS NULL',
        replace: '',
      },
    ],
    foundBy: ['revoked-key-is-rejected', 'rejected-is-not-charged'],
  },
];
