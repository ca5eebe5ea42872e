/*
 * Checks of grants in the statements that act for an application. The grant stays locked until the statement is
 * committed, so a revocation commits before the statement has read the grant, or after its effect.
 */

/** Common table expression `owner`: the row of `account`, which is locked, if its grant `:grant` is not revoked. */
export const LOCK_GRANT = `
   owner AS MATERIALIZED (
     SELECT account.* FROM account JOIN oauth_grants g ON g.account_id = account.id
      WHERE g.uuid = cast(:grant AS uuid) AND g.revoked_at IS NULL
        FOR SHARE OF g
   ),`;
