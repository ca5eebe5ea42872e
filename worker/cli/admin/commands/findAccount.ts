import { describeAccountState } from '../../../../shared/domain/staff/accountState.ts';
import { listActiveApiKeys } from '../../../../shared/domain/accounts/apiKeys.ts';
import {
  listLastLedgerEntries,
  lookUpAccountForStaff,
  listPaymentIssues,
} from '../../../../shared/domain/staff/accountLookup.ts';
import { getSubscriptionOverview } from '../../../../shared/domain/billing/billingStatus.ts';
import { type CommandContext, formatTime, printTable } from '../command.ts';

const LEDGER_ENTRIES_SHOWN = 10;

export async function findAccount({ args: [query = ''], print }: CommandContext): Promise<void> {
  const account = await lookUpAccountForStaff(query);
  const [billing, keys, entries, issues] = await Promise.all([
    getSubscriptionOverview(account),
    listActiveApiKeys(account.id),
    listLastLedgerEntries(account, LEDGER_ENTRIES_SHOWN),
    listPaymentIssues(account),
  ]);
  const { state, since } = describeAccountState(account);
  const facts = [
    ['e-mail', account.email],
    ['uuid', account.uuid],
    ['number', String(account.id)],
    ['signed up', `${formatTime(account.created_at)} through ${account.social_provider}`],
    ['state', since === null ? state : `${state} since ${formatTime(since)}`],
    ...(account.suspended_at === null || state === 'suspended'
      ? []
      : [['suspended since', formatTime(account.suspended_at)]]),
    ['plan', `${billing.plan?.slug ?? 'none'}, ${billing.status}, until ${formatTime(billing.currentPeriodEnd)}`],
    ['customer', account.stripe_customer_id ?? '-'],
    ['balance', `${account.balance} (plan ${account.plan_credits}, top-ups ${account.topup_credits})`],
    ['in progress', `${account.in_flight} of ${account.parallel_limit}`],
    ['generations', String(account.generation_count)],
  ];
  const [first = [], ...others] = facts;
  printTable(print, first, others);
  if (issues.length > 0) {
    print('');
    print('Payments that need attention:');
    for (const issue of issues) print(`  ${issue}`);
  }
  print('');
  print(`Active API keys: ${keys.length}`);
  if (keys.length > 0) {
    const rows = keys.map((key) => [
      key.prefix,
      key.uuid,
      formatTime(key.created_at),
      formatTime(key.last_used_at),
      key.name,
    ]);
    printTable(print, ['prefix', 'uuid', 'created', 'last used', 'name'], rows);
  }
  print('');
  print(`Latest of ${account.ledger_count} ledger entries:`);
  const rows = entries.map((entry) => [
    formatTime(entry.created_at),
    entry.entry_type,
    String(entry.amount),
    String(entry.balance_after),
    entry.description,
  ]);
  printTable(print, ['at', 'entry', 'amount', 'balance', 'description'], rows);
}
