import { ServiceError } from '../../spec/errors.ts';
import { Account } from '../../tables/Account.ts';
import type { ApiKey } from '../../tables/ApiKey.ts';
import { type ConnectedApplication, listConnectedApplications } from '../oauth/grants.ts';
import type { Identity } from '../../tables/Identity.ts';
import type { LedgerEntry } from '../../tables/LedgerEntry.ts';
import type { Invoice } from '../../tables/Invoice.ts';
import { OwedRefund } from '../../tables/OwedRefund.ts';
import { PaymentEvent } from '../../tables/PaymentEvent.ts';
import { Subscription } from '../../tables/Subscription.ts';
import { findRequestedDeletion, type RequestedDeletion } from '../privacy/deletion.ts';
import { listLastLedgerEntries, listPaymentIssues } from './accountLookup.ts';
import { listActiveApiKeys } from '../accounts/apiKeys.ts';
import { findOwner } from '../accounts/people.ts';
import { type ListedMember, listMembersForStaff } from '../members/members.ts';
import { listIdentities } from '../signIn/identities.ts';
import { type ActiveWebSession, listActiveSessions } from '../signIn/sessions.ts';
import { type AffiliateOverview, getAffiliateOverview } from '../affiliates/overview.ts';
import { listRecentInvoices } from '../billing/invoices.ts';
import { APPLY_PAYMENT_EVENT } from '../billing/paymentEvents.ts';
import { type ListedTopup, listRecentTopups } from '../billing/topups.ts';
import { type AppliedPlan, listAppliedPlans } from '../billing/planHistory.ts';
import { getSubscriptionOverview, type SubscriptionOverview } from '../billing/billingStatus.ts';
import { listApplicationLimits, listKeyLimits, type SpendingLimits } from '../spendingLimits/listSpendingLimits.ts';
import { type ListedTask, listAccountTasks } from '../tasks/listTasks.ts';
import { listGenerationsForStaff, type StaffGenerationPage } from './generations.ts';

/** Latest rows of each list on the account page of staff. */
const ROWS_SHOWN = 10;
/** Latest generations, among which the last success and the last failures are found. */
const GENERATIONS_READ = 100;

/** An event of the payment processor that concerns the account and is not processed. */
export type UnprocessedEvent = Pick<PaymentEvent, 'event_id' | 'type' | 'received_at'>;

/** Overview of an account for staff: no prompts, no outputs, no secrets. */
export interface AccountOverview {
  account: Account;
  /** Requested deletion that is not completed; null if there is none. */
  deletion: RequestedDeletion | null;
  plan: SubscriptionOverview;
  subscriptions: Subscription[];
  /** Which plans applied and when, oldest first. */
  planHistory: AppliedPlan[];
  ledger: LedgerEntry[];
  generations: StaffGenerationPage;
  invoices: Invoice[];
  topups: ListedTopup[];
  refunds: OwedRefund[];
  events: UnprocessedEvent[];
  /** Tasks of the account, and those that apply its events. */
  tasks: ListedTask[];
  issues: string[];
  keys: ApiKey[];
  keyLimits: SpendingLimits;
  sessions: ActiveWebSession[];
  applications: ConnectedApplication[];
  applicationLimits: SpendingLimits;
  identities: Identity[];
  /** All members, and the latest former ones. */
  members: ListedMember[];
  /** null if the account is not an affiliate. */
  affiliate: AffiliateOverview | null;
}

/** Finds an account by its uuid. @throws ServiceError not_found */
export async function findAccountForStaff(uuid: string): Promise<Account> {
  const account = await Account.query().findOne({ uuid }).whereNull('live_account_id');
  if (account !== undefined) return account;
  throw new ServiceError('not_found', 'Not found. There is no account with that UUID.');
}

/** Reads what staff see of an account: its state, and the latest rows of each list. */
export async function readAccountOverview(account: Account): Promise<AccountOverview> {
  const { id } = account;
  const [plan, subscriptions, ledger, generations, topups, refunds, events, issues] = await Promise.all([
    getSubscriptionOverview(account),
    Subscription.query().where({ account_id: id }).orderBy('id', 'desc').limit(ROWS_SHOWN),
    listLastLedgerEntries(account, ROWS_SHOWN),
    listGenerationsForStaff(id, undefined, GENERATIONS_READ),
    listRecentTopups(id, ROWS_SHOWN),
    OwedRefund.query().where({ account_id: id }).orderBy('created_at', 'desc'),
    listUnprocessedEvents(account),
    listPaymentIssues(account),
  ]);
  const eventIds = events.map(({ event_id: eventId }) => eventId);
  const [tasks, keys, sessions, applications, members, identities, affiliate, invoices, deletion, planHistory] =
    await Promise.all([
      listAccountTasks(id, APPLY_PAYMENT_EVENT, eventIds, ROWS_SHOWN),
      listActiveApiKeys(id),
      listActiveSessions({ account_id: id }, ''),
      listConnectedApplications(id),
      listMembersForStaff(id),
      findOwner(id).then((owner) => (owner === undefined ? [] : listIdentities(owner.id))),
      account.is_affiliate ? getAffiliateOverview(id) : null,
      listRecentInvoices(id, ROWS_SHOWN),
      findRequestedDeletion(id),
      listAppliedPlans(id),
    ]);
  const [keyLimits, applicationLimits] = await Promise.all([listKeyLimits(keys), listApplicationLimits(id)]);
  return {
    account,
    deletion,
    plan,
    subscriptions,
    planHistory,
    ledger,
    generations,
    invoices,
    topups,
    refunds,
    events,
    tasks,
    issues,
    keys,
    keyLimits,
    sessions,
    applications,
    applicationLimits,
    identities,
    members,
    affiliate,
  };
}

/** Finds unprocessed events that name the Stripe customer. They are few and have a partial index. */
async function listUnprocessedEvents({ stripe_customer_id: customer }: Account): Promise<UnprocessedEvent[]> {
  if (customer === null) return [];
  return PaymentEvent.query()
    .select('event_id', 'type', 'received_at')
    .whereRaw('strpos(payload, ?) > 0', [`"${customer}"`])
    .whereNull('processed_at')
    .orderBy('received_at', 'desc')
    .limit(ROWS_SHOWN);
}
