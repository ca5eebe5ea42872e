import { GenmeterError, type LedgerFilters } from '@genmeter/client';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { parseCount } from '../arguments.ts';
import { openPage } from '../browser.ts';
import { withExamples } from '../help.ts';
import { formatList, formatTime, printResult } from '../output.ts';
import { readFirst } from '../readList.ts';
import { findServiceUrl, openClient, openPublicClient } from '../session.ts';
import type { Terminal } from '../terminal.ts';

const DEFAULT_LIMIT = 20;

interface LedgerOptions {
  limit: number;
  type?: LedgerFilters['entry_type'];
  after?: string;
  before?: string;
}

export function addBillingCommands(program: Command, terminal: Terminal): void {
  const ledger = program
    .command('ledger')
    .description('list changes of the balance, newest first')
    .option('-n, --limit <number>', 'most entries to list', parseCount, DEFAULT_LIMIT)
    .addOption(
      new Option('--type <type>', 'of this type').choices(['grant', 'burn', 'refund', 'rollover', 'expiry', 'topup']),
    )
    .option('--after <time>', 'at this date or ISO 8601 time, or later')
    .option('--before <time>', 'before this date or time');
  withExamples(ledger, 'ledger -n 50', 'ledger --type burn --after 2026-11-01 --json').action(
    (options: LedgerOptions) => listLedger(options, terminal),
  );

  const plans = program.command('plans').description('list plans with their prices');
  withExamples(plans, 'plans').action(() => listPlans(terminal));

  const topup = program
    .command('topup')
    .description('buy credits: print the page on which they are paid')
    .argument('<dollars>', 'amount, such as 50', parseCents)
    .option('--open', 'open the page in the browser');
  withExamples(topup, 'topup 50', 'topup 120 --open').action((amountCents: number, options: { open?: true }) =>
    buyCredits(amountCents, options.open === true, terminal),
  );
}

function parseCents(text: string): number {
  if (/^\d{1,9}(\.\d{1,2})?$/.test(text)) return Math.round(Number(text) * 100);
  throw new InvalidArgumentError('Write dollars, such as 50 or 99.50.');
}

async function listLedger({ limit, type, after, before }: LedgerOptions, terminal: Terminal): Promise<void> {
  const filters: LedgerFilters = { entry_type: type, created_after: after, created_before: before };
  const entries = await readFirst(openClient(terminal).ledger.list(filters, { signal: terminal.signal }), limit);
  printResult(terminal, entries, () =>
    formatList(
      'ledger entries',
      ['TIME', 'TYPE', 'CREDITS', 'BALANCE', 'DESCRIPTION'],
      entries.map((entry) => [
        formatTime(entry.created_at),
        entry.entry_type,
        entry.amount > 0 ? `+${entry.amount}` : entry.amount,
        entry.balance_after,
        entry.description,
      ]),
    ),
  );
}

const toDollars = (cents: number): string => `$${(cents / 100).toFixed(2)}`;

async function listPlans(terminal: Terminal): Promise<void> {
  const plans = await openPublicClient(terminal).plans.list({ signal: terminal.signal });
  printResult(terminal, plans, () =>
    formatList(
      'plans',
      ['PLAN', 'NAME', 'CREDITS/MONTH', 'PARALLEL', 'PRICE/MONTH', 'CHARGED/YEAR'],
      plans.map((plan) => [
        plan.slug,
        plan.name,
        plan.monthly_credits,
        plan.parallel_limit,
        toDollars(plan.price_monthly_cents),
        toDollars(plan.price_yearly_cents),
      ]),
    ),
  );
}

/** Starts a top-up. A sign-in through the browser cannot pay, so its user chooses the amount on the billing page. */
async function buyCredits(amountCents: number, mayOpen: boolean, terminal: Terminal): Promise<void> {
  const request = { amount_cents: amountCents };
  const page = await openClient(terminal)
    .billing.topUp(request, { signal: terminal.signal })
    .then(({ checkout_url: url }) => ({
      url,
      text: url === null ? 'The credits were added: no payment is needed.' : `Pay on this page: ${url}`,
    }))
    .catch((error: unknown) => {
      if (!(error instanceof GenmeterError) || error.error !== 'insufficient_scope') throw error;
      const url = `${findServiceUrl(terminal)}/account/billing/`;
      return { url, text: `This sign-in cannot start a payment. Buy the credits on this page: ${url}` };
    });
  if (mayOpen && page.url !== null) openPage(terminal, page.url);
  printResult(terminal, { url: page.url }, () => page.text);
}
