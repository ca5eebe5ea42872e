import { raw } from 'objection';
import { Topup } from '../../tables/Topup.ts';

/** A top-up with the credits that are left of it; null unless it is paid. */
export type ListedTopup = Topup & { remainder: number | null };

/** Lists the latest top-ups of an account, newest first. */
export async function listRecentTopups(accountId: number, limit = 10): Promise<ListedTopup[]> {
  const topups = await queryWithRemainders(accountId).orderBy('topups.created_at', 'desc').limit(limit);
  return topups as ListedTopup[];
}

/** Returns the credits that are left of a paid top-up. */
export async function readTopupRemainder({ uuid, account_id: accountId }: Topup): Promise<number> {
  const topup = await queryWithRemainders(accountId).findById(uuid);
  return (topup as ListedTopup | undefined)?.remainder ?? 0;
}

function queryWithRemainders(accountId: number) {
  return Topup.query()
    .select('topups.*', 'lot.remainder')
    .leftJoin(raw('topup_remainders(?) AS lot', [accountId]), 'lot.topup_uuid', 'topups.uuid')
    .where('topups.account_id', accountId);
}
