/** Builds statements that give an account of the ledger fixture limits of two keys and of an application. */
export const buildSpendingLimitsSql = (accountId: number): string => `
    UPDATE generations SET oauth_client_id = 'client-1' WHERE account_id = ${accountId} AND status = 'queued';
    INSERT INTO spending_limits (account_id, number, key_number, client_id, credits, period, window_start,
                                 generation_count_at_window_start, used, created_at, updated_at)
    SELECT ${accountId}, w.number, w.key_number, w.client_id, 100000, w.period, w.window_start, w.start,
           coalesce((SELECT sum(g.credits_charged) FROM generations g
                      WHERE g.account_id = ${accountId} AND g.number > w.start AND g.status <> 'failed'
                        AND (g.api_key_number = w.key_number OR g.oauth_client_id = w.client_id)), 0), '2036-04-01', '2036-04-01'
      FROM (VALUES (1, 1, NULL, 'total', NULL::timestamptz, 0), (2, NULL, 'client-1', 'total', NULL, 0),
                   (3, 2, NULL, 'day', '2036-04-01T00:00:00Z', 1)) AS w (number, key_number, client_id, period, window_start, start);
    UPDATE accounts SET spending_limit_count = 3 WHERE id = ${accountId};`;
