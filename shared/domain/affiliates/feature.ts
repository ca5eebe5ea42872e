import { now } from '../../lib/clock.ts';
import { DAY_MS } from '../../spec/durations.ts';
import { Affiliate } from '../../tables/Affiliate.ts';
import { Referral } from '../../tables/Referral.ts';
import { listTable } from '../exportList.ts';
import type { DomainFeature } from '../feature.ts';
import { AFFILIATE_INVARIANTS } from './invariants.ts';
import { TRANSFER_PAYOUT } from './payouts.ts';

export const AFFILIATES: DomainFeature = {
  invariants: AFFILIATE_INVARIANTS,
  exportLists: [
    listTable('referrals', 'account_id', ['clicked_at', 'created_at']),
    listTable('affiliates', 'account_id', [
      'code',
      'connect_account_id',
      'connect_onboarded',
      'payout_enabled',
      'closed_at',
      'created_at',
    ]),
    // Without the invoices and the accounts of the customers that they are for.
    listTable(
      'commissions',
      'id',
      ['amount_cents', 'settled_cents', 'paid_at', 'payable_at', 'is_simulated', 'created_at'],
      { owner: 'affiliate_id' },
    ),
    listTable(
      'payouts',
      'uuid',
      [
        'uuid',
        'month',
        'status',
        'amount_cents',
        'connect_account_id',
        'stripe_transfer_id',
        'created_at',
        'completed_at',
      ],
      { owner: 'affiliate_id' },
    ),
  ],
  erasure: {
    inTransaction: async (transaction, { id: accountId }) => {
      await Referral.query(transaction).patch({ network: null }).where({ account_id: accountId });
      // Commissions that were earned are paid out as before, if payouts are set up.
      const closed = { closed_at: now() };
      await Affiliate.query(transaction).patch(closed).where({ account_id: accountId, closed_at: null });
    },
  },
  tasks: [TRANSFER_PAYOUT],
  retention: [
    // Hashes of networks are kept for more than a year, as reports compare.
    {
      table: 'referrals',
      key: 'account_id',
      since: 'created_at',
      afterMs: 400 * DAY_MS,
      where: 'network IS NOT NULL',
      set: 'network = NULL',
    },
  ],
};
