import { Topup } from '../../tables/Topup.ts';

/** Lists the latest top-ups of an account, newest first. */
export function listRecentTopups(accountId: number, limit = 10): Promise<Topup[]> {
  return Topup.query().where({ account_id: accountId }).orderBy('created_at', 'desc').limit(limit).execute();
}
