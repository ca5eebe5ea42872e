import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import { getPageOffset, type ListPage } from '../../lib/pagination.ts';
import { PAGE_SIZE } from '../../spec/limits.ts';
import { Account } from '../../tables/Account.ts';
import type { Member } from '../../tables/Member.ts';
import type { UsageSum } from './usageByKey.ts';

/** Usage of a member with all sessions, keys and applications. */
export type MemberUsage = UsageSum & Pick<Member, 'uuid' | 'removed_at'> & { email: string };

/** An account that has had one member has no sums by member: all is the owner's. */
const LIST_MEMBER_USAGE = prepared(
  'list_member_usage',
  `SELECT m.uuid, m.removed_at, p.email,
          cast(coalesce(CASE WHEN a.member_count > 1 THEN u.credits ELSE t.credits END, 0) AS bigint) AS credits,
          cast(coalesce(CASE WHEN a.member_count > 1 THEN u.generations ELSE t.generations END, 0) AS bigint) AS generations
     FROM members m
     JOIN accounts a ON a.id = m.account_id
     JOIN people p ON p.id = m.person_id
     LEFT JOIN usage_members u ON u.account_id = m.account_id AND u.member_number = m.number
    CROSS JOIN LATERAL (SELECT sum(credits) AS credits, sum(generations) AS generations
                          FROM usage_totals WHERE account_id = a.id) t
    WHERE m.account_id = :accountId AND m.number BETWEEN :oldest AND :newest
    ORDER BY m.number DESC`,
);

/** Lists the usage of all members of an account since they joined, newest member first, including removed ones. */
export async function listMemberUsage(accountId: number, page: number): Promise<ListPage<MemberUsage>> {
  const account = await Account.query().findById(accountId).select('member_count').throwIfNotFound();
  const { member_count: totalItems } = account;
  const newest = totalItems - getPageOffset(page);
  if (newest <= 0) return { page, totalItems, items: [] };
  const items = await runStatement<MemberUsage>(LIST_MEMBER_USAGE, {
    accountId,
    oldest: newest - PAGE_SIZE + 1,
    newest,
  });
  return { page, totalItems, items };
}
