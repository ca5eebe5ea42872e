import type { SeededBug } from './seededBug.ts';

const REFRESH_TOKENS = 'shared/domain/oauth/refreshTokens.ts';
const DECIDE = 'shared/domain/generations/decideCreates.sql';

/** Bugs in spending limits, and in the access of applications. */
export const LIMIT_BUGS: readonly SeededBug[] = [
  {
    name: 'the charge decides without the lock of the account',
    changes: [
      {
        file: 'shared/domain/credits/lockAccounts.sql',
        find: 'ORDER BY a.id FOR NO KEY UPDATE SKIP LOCKED',
        replace: '',
      },
    ],
    foundBy: ['spending-limits-match-generations', 'charges-keep-limits'],
  },
  {
    name: 'the limit of an application is not checked',
    changes: [
      {
        file: DECIDE,
        find: 'OR l.client_id = r.oauth_client_id',
        replace: '',
      },
    ],
    foundBy: ['spending-limits-match-generations', 'charges-keep-limits'],
  },
  {
    name: 'the limit of a member is not checked',
    changes: [{ file: DECIDE, find: 'OR l.member_number = r.member_number', replace: '' }],
    foundBy: ['charges-keep-limits'],
  },
  {
    name: "a removed member's session still creates",
    changes: [
      {
        file: 'shared/domain/signIn/endMembership.ts',
        within: 'endMembership',
        find: 'const sessions = await Session.query($transaction) .where({ account_id: accountId, member_number: memberNumber }) .delete();',
        replace: 'const sessions = 0; void Session;',
      },
      {
        file: 'shared/domain/signIn/sessions.ts',
        within: 'FIND_SESSION_OWNERS',
        find: 'AND m.removed_at IS NULL',
        replace: '',
      },
    ],
    foundBy: ['member-rights-are-kept', 'sessions-belong-to-members'],
  },
  {
    name: 'the role of a member is not checked again in the charge, or when its request is admitted',
    changes: [
      { file: DECIDE, find: 'AND m.role <> ALL (p_creators)', replace: 'AND false' },
      {
        file: 'api/pipeline/runProgramRoute.ts',
        within: 'authorize',
        find: 'if (route.needs !== undefined) requireRight($caller, $route.needs);',
        replace: 'void requireRight;',
      },
    ],
    foundBy: ['member-rights-are-kept'],
  },
  {
    name: 'a refund is returned to the present window of a limit, whichever window was charged',
    changes: [
      {
        file: 'migrations/0001_baseline/06_usage.sql',
        find: 'AND generation_count_at_window_start < NEW.number;',
        replace: ';',
      },
    ],
    foundBy: ['windows-match-at-every-commit', 'spending-limits-match-generations'],
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
  {
    name: 'the refresh tokens of a disconnected application return new tokens',
    changes: [
      { file: REFRESH_TOKENS, within: 'ROTATE_REFRESH_TOKENS', find: 'AND $g.revoked_at IS NULL', replace: '' },
    ],
    foundBy: ['revoked-key-is-rejected'],
  },
  {
    name: 'a refresh token is accepted although its successor was used',
    changes: [
      {
        file: REFRESH_TOKENS,
        within: 'ROTATE_REFRESH_TOKENS',
        find: 'AND NOT ${IS_SUPERSEDED})',
        replace: ')',
      },
    ],
    foundBy: ['used-refresh-token-is-rejected'],
  },
  {
    name: 'a refresh token that is used again is rejected, and its grant continues',
    changes: [
      {
        file: REFRESH_TOKENS,
        within: 'explainRejection',
        find: "await revokeGrant($row.uuid, 'token_reuse');",
        replace: '',
      },
    ],
    foundBy: ['revoked-key-is-rejected'],
  },
  {
    name: 'the grant of an application is not checked in the charge',
    changes: [
      {
        file: DECIDE,
        find: 'AND g.revoked_at IS NULL',
        replace: '',
      },
    ],
    foundBy: ['revoked-key-is-rejected', 'rejected-is-not-charged'],
  },
];
