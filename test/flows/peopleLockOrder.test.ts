import { expect } from 'chai';
import { SERVICE_ORIGIN } from '../../shared/domain/accounts/securityEvents.ts';
import { lockAccount } from '../../shared/domain/credits/ledger.ts';
import { eraseAccount } from '../../shared/domain/privacy/erase.ts';
import { removeMembersSince } from '../../shared/domain/signIn/endMembership.ts';
import { Account } from '../../shared/tables/Account.ts';
import { waitForLockWaits } from '../harness/lockedAccount.ts';
import { accept, invite } from '../harness/members.ts';
import { getAccountId } from '../harness/outbox.ts';
import { useTestService } from '../harness/testService.ts';

/** Both remove several people from an account at once. */
const REMOVALS: Record<string, (accountId: number) => Promise<unknown>> = {
  'the erasure of an account': eraseAccount,
  'the undo of invitations': (accountId) =>
    Account.transaction(async (transaction) => {
      await lockAccount(transaction, accountId);
      await removeMembersSince(transaction, accountId, new Date(0), SERVICE_ORIGIN);
    }),
};

describe('people who lose an account together', () => {
  const service = useTestService({ workers: 0 });

  for (const [what, remove] of Object.entries(REMOVALS))
    it(`are locked by ${what} in the order of their ids, so that two of them cannot deadlock`, async () => {
      const [owner, older, newer] = [
        await service.createCustomer(null),
        await service.createCustomer(null),
        await service.createCustomer(null),
      ];
      for (const person of [newer, older])
        expect(await accept(person, await invite(owner, person, 'viewer'))).to.equal(303);
      // With its size known, the table is read in the order in which people joined.
      await service.sql('ANALYZE members');
      const accountId = await getAccountId(service, owner);
      const holder = await service.database.connect();
      try {
        await holder.query('BEGIN');
        await holder.query('SELECT FROM people WHERE email = $1 FOR NO KEY UPDATE', [older.email]);
        const removed = remove(accountId);
        await waitForLockWaits(service);
        const { rowCount } = await holder.query('SELECT FROM people WHERE email = $1 FOR NO KEY UPDATE SKIP LOCKED', [
          newer.email,
        ]);
        await holder.query('ROLLBACK');
        await removed;
        expect(rowCount).to.equal(1);
      } finally {
        holder.release(true);
      }
    });
});
