/*
 * Checks of grants in the statements that act for an application. The grant stays locked until the statement is
 * committed, so a revocation commits before the statement has read the grant, or after its effect.
 */

/**
 * Builds the common table expressions that reject the requests in `applicant`, whose accounts are locked, if their
 * grants are revoked. The grants are locked after the accounts, and by a scan of their own: it reads the newest version
 * of a row, where a join would return the version of the snapshot.
 * @param name of the result: `applicant` with the decision as `column`.
 */
export const buildGrantDecision = (name: string, column: string): string => `
   ), granted AS MATERIALIZED (
     SELECT r.uuid
       FROM applicant r
       JOIN oauth_grants g
         ON g.uuid = ANY (cast(:grants AS uuid[])) AND g.uuid = r.grant_uuid AND g.account_id = r.id
      WHERE g.revoked_at IS NULL
        FOR SHARE OF g
   ), ${name} AS MATERIALIZED (
     SELECT applicant.*,
            CASE WHEN applicant.grant_uuid IS NULL OR granted.uuid IS NOT NULL THEN applicant.admission
                 ELSE 'invalid_api_key' END AS ${column}
       FROM applicant
       LEFT JOIN granted ON granted.uuid = applicant.uuid`;

/** Common table expression `owner`: the row of `account`, which is locked, if its grant `:grant` is not revoked. */
export const LOCK_GRANT = `
   owner AS MATERIALIZED (
     SELECT account.* FROM account JOIN oauth_grants g ON g.account_id = account.id
      WHERE g.uuid = cast(:grant AS uuid) AND g.revoked_at IS NULL
        FOR SHARE OF g
   ),`;
