import { DAY_MS } from '../../spec/durations.ts';
import { Affiliate } from '../../tables/Affiliate.ts';
import { Invoice } from '../../tables/Invoice.ts';
import { listTable } from '../exportList.ts';
import type { DomainFeature } from '../feature.ts';
import { CREDIT_PERIOD_INVARIANTS } from './creditPeriodInvariants.ts';
import { FOLLOW_UP } from './followUps.ts';
import { ISSUE_REFUND } from './issueRefunds.ts';
import { oweBackAfterDeletion } from './owedRefunds.ts';
import { APPLY_PAYMENT_EVENT, clearEventPayloads } from './paymentEvents.ts';
import { SYNC_PENDING_TOPUPS } from './pendingTopups.ts';
import { APPLY_EVENT_KIND } from './processorTasks.ts';
import { SUBSCRIPTION_INVARIANTS } from './subscriptionInvariants.ts';
import { ISSUE_INVOICE } from './topupInvoices.ts';
import { TOPUP_INVARIANTS } from './topupInvariants.ts';

export const BILLING: DomainFeature = {
  invariants: [...SUBSCRIPTION_INVARIANTS, ...CREDIT_PERIOD_INVARIANTS, ...TOPUP_INVARIANTS],
  exportLists: [
    listTable('subscriptions', 'id', [
      'uuid',
      'plan_slug',
      'status',
      'processor',
      'stripe_subscription_id',
      'started_at',
      'activated_at',
      'current_period_end',
      'paid_until',
      'past_due_since',
      'cancel_at_period_end',
      'ended_at',
      'created_at',
    ]),
    listTable('topups', 'uuid', [
      'member_number',
      'uuid',
      'kind',
      'status',
      'amount_cents',
      'credits',
      'net_cents',
      'tax_cents',
      'discount_cents',
      'stripe_session_id',
      'stripe_payment_intent_id',
      'failure_code',
      'reversed_cents',
      'is_disputed',
      'credits_reversed',
      'created_at',
      'completed_at',
    ]),
    listTable('owed_refunds', 'key', ['invoice_id', 'topup_uuid', 'status', 'created_at', 'completed_at']),
    listTable('invoices', 'uuid', [
      'uuid',
      'kind',
      'topup_uuid',
      'stripe_invoice_id',
      'number',
      'description',
      'status',
      'currency',
      'total_cents',
      'tax_cents',
      'discount_cents',
      'net_cents',
      'refunded_cents',
      'hosted_invoice_url',
      'pdf_url',
      'created_at',
      'paid_at',
    ]),
  ],
  erasure: {
    inTransaction: async (transaction, account) => {
      const withoutAddresses = { hosted_invoice_url: null, pdf_url: null };
      await Invoice.query(transaction).patch(withoutAddresses).where({ account_id: account.id });
      await oweBackAfterDeletion(transaction, account);
    },
    after: async ({ id: accountId, uuid, stripe_customer_id: customerId }) => {
      const affiliate = await Affiliate.query().findById(accountId);
      const names = [uuid, customerId, affiliate?.connect_account_id ?? null];
      await clearEventPayloads(names.filter((name) => name !== null));
    },
  },
  tasks: [ISSUE_REFUND, ...SYNC_PENDING_TOPUPS, ISSUE_INVOICE, FOLLOW_UP, APPLY_PAYMENT_EVENT],
  retention: [
    // Kept for inspection, well beyond the three days in which the processor repeats them.
    {
      table: 'payment_events',
      key: 'event_id',
      since: 'received_at',
      afterMs: 60 * DAY_MS,
      where: `NOT EXISTS (SELECT FROM tasks t WHERE t.kind = '${APPLY_EVENT_KIND}' AND t.key = payment_events.event_id
                                                 AND t.run_at IS NOT NULL)`,
      // Tasks of events that were given up.
      also: `DELETE FROM tasks t USING changed WHERE t.kind = '${APPLY_EVENT_KIND}' AND t.key = changed.event_id`,
    },
  ],
};
