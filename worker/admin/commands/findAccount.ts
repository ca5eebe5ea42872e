import { activeApiKeys } from '../../../shared/domain/apiKeys.ts';
import { lastLedgerEntries, lookUpAccount, paymentIssues } from '../../../shared/domain/lookUp.ts';
import { subscriptionStanding } from '../../../shared/domain/subscriptions.ts';
import { type Call, table, time } from '../command.ts';

const ENTRIES = 10;

export async function findAccount({ names: [named = ''], say }: Call): Promise<void> {
  const account = await lookUpAccount(named);
  const [billing, keys, entries, issues] = await Promise.all([
    subscriptionStanding(account),
    activeApiKeys(account.id),
    lastLedgerEntries(account, ENTRIES),
    paymentIssues(account),
  ]);
  const facts = [
    ['e-mail', account.email],
    ['uuid', account.uuid],
    ['number', String(account.id)],
    ['signed up', `${time(account.created_at)} through ${account.social_provider}`],
    ['plan', `${billing.plan?.slug ?? 'none'}, ${billing.status}, until ${time(billing.currentPeriodEnd)}`],
    ['customer', account.stripe_customer_id ?? '-'],
    ['balance', `${account.balance} (plan ${account.plan_credits}, top-ups ${account.topup_credits})`],
    ['under way', `${account.in_flight} of ${account.parallel_limit}`],
    ['generations', String(account.generation_count)],
  ];
  for (const line of table(['', ''], facts).slice(1)) say(line);
  if (issues.length > 0) {
    say('');
    say('Payments that need attention:');
    for (const issue of issues) say(`  ${issue}`);
  }
  say('');
  say(`Active API keys: ${keys.length}`);
  if (keys.length > 0) {
    const rows = keys.map((key) => [key.prefix, key.uuid, time(key.created_at), time(key.last_used_at), key.name]);
    for (const line of table(['prefix', 'uuid', 'created', 'last used', 'name'], rows)) say(line);
  }
  say('');
  say(`Last entries of the ledger, of ${account.ledger_count}:`);
  const rows = entries.map((entry) => [
    time(entry.created_at),
    entry.entry_type,
    String(entry.amount),
    String(entry.balance_after),
    entry.description,
  ]);
  for (const line of table(['at', 'entry', 'amount', 'balance', 'description'], rows)) say(line);
}
