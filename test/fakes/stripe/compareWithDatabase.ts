import type { Queryable, Violation } from '../../../shared/domain/invariant.ts';
import type { PlanPayment } from './planPayments.ts';
import type { StripeSummary } from './summary.ts';

const STATEMENTS = {
  'charged-once': 'No top-up is charged for more than once.',
  'one-subscription': 'No account has two subscriptions at the payment processor.',
  'one-customer': 'No account has bought as two customers of the payment processor.',
  'paid-once': 'No payout is transferred more than once.',
  'transfers-are-payouts': 'What was transferred at the payment processor is what payouts say was paid, and to whom.',
  'payments-are-topups': 'A top-up has succeeded, and is in the ledger, exactly for every payment that succeeded.',
  'reversals-are-known': 'Of a top-up so much counts as reversed as was refunded or is disputed.',
  'invoices-are-the-same': 'A top-up has one invoice at the payment processor, over the amount that the list says.',
  'plan-reversals-are-known': 'Of an invoice of a plan so much counts as refunded as was refunded or is disputed.',
  'returned-plans-end': 'No subscription has a plan of which every payment for the running year was returned.',
  'plans-are-the-same': 'Accounts live under the plans that they have at the payment processor.',
} as const;

/** Compares the database with the fake's objects, once all events are processed. */
export async function compareStripeWithDatabase(theirs: StripeSummary, client: Queryable): Promise<Violation[]> {
  const found: Violation[] = [];
  const report = (invariant: keyof typeof STATEMENTS, subject: string, detail: string) =>
    found.push({ invariant, statement: STATEMENTS[invariant], accountId: null, subject, detail });

  for (const uuid of theirs.doubleChargedTopups) report('charged-once', uuid, 'two payments for it succeeded');
  for (const uuid of theirs.doubleSubscribedAccounts) report('one-subscription', uuid, 'has two that are not over');
  for (const uuid of theirs.duplicateCustomers) report('one-customer', uuid, 'is two customers');
  for (const uuid of theirs.doublePaidPayouts) report('paid-once', uuid, 'two transfers were made for it');

  const payouts = await client.query(
    `SELECT stripe_transfer_id AS id, connect_account_id || ' ' || amount_cents AS paid FROM payouts WHERE status = 'paid'`,
  );
  findDifferences(
    new Map(payouts.rows.map(({ id, paid }) => [id, paid])),
    new Map([...theirs.transfers].map(([id, { accountId, amountCents }]) => [id, `${accountId} ${amountCents}`])),
  ).forEach(([id, ours, other]) => report('transfers-are-payouts', id, `paid ${ours}, transferred ${other}`));

  const paid = new Map(
    [...theirs.topups].filter(([, { succeeded }]) => succeeded > 0).map(([uuid]) => [uuid, 'succeeded']),
  );
  const topups = await client.query(`SELECT uuid, reversed_cents FROM topups WHERE status = 'succeeded'`);
  const entries = await client.query(
    `SELECT substr(effect_key, length('topup:') + 1) AS uuid FROM ledger_entries WHERE entry_type = 'topup'`,
  );
  for (const [what, { rows }] of [
    ['top-up', topups],
    ['ledger entry', entries],
  ] as const) {
    findDifferences(new Map(rows.map(({ uuid }) => [uuid, 'succeeded'])), paid).forEach(([uuid, ours, other]) =>
      report('payments-are-topups', uuid, `${what}: ${ours}, payment: ${other}`),
    );
  }
  for (const { uuid, reversed_cents: reversedCents } of topups.rows) {
    const { refundedCents = 0, disputedCents = 0, paidCents = 0, taxCents = 0 } = theirs.topups.get(uuid) ?? {};
    const reversed = Math.min(paidCents, refundedCents + disputedCents);
    const expected = paidCents === 0 ? 0 : Math.floor((reversed * (paidCents - taxCents)) / paidCents);
    if (reversedCents !== expected)
      report('reversals-are-known', uuid, `${reversedCents} cents, and theirs ${expected}`);
  }

  const invoices = await client.query(
    `SELECT topup_uuid, stripe_invoice_id, total_cents::int FROM invoices WHERE stripe_invoice_id IS NOT NULL AND topup_uuid IS NOT NULL`,
  );
  for (const { topup_uuid: uuid, stripe_invoice_id: id, total_cents: totalCents } of invoices.rows) {
    const issued = theirs.topups.get(uuid)?.invoices.map((invoice) => `${invoice.id} ${invoice.totalCents}`) ?? [];
    if (issued.length !== 1 || issued[0] !== `${id} ${totalCents}`)
      report('invoices-are-the-same', uuid, `ours ${id} ${totalCents}, theirs ${issued.join(', ')}`);
  }

  for (const detail of await findUnknownReversals(theirs, client)) report('plan-reversals-are-known', ...detail);
  for (const detail of findReturnedPlans(theirs)) report('returned-plans-end', ...detail);

  const ours = await client.query(
    `SELECT a.uuid, s.plan_slug FROM subscriptions s JOIN accounts a ON a.id = s.account_id
      WHERE s.status IN ('active', 'past_due', 'unpaid')`,
  );
  const live = theirs.customers.filter(
    ({ subscription }) => subscription !== null && subscription.status !== 'incomplete',
  );
  findDifferences(
    new Map(ours.rows.map((row) => [row.uuid, row.plan_slug])),
    new Map(live.map(({ accountUuid, subscription }) => [accountUuid ?? '', subscription?.plan ?? ''])),
  ).forEach(([uuid, mine, other]) => report('plans-are-the-same', uuid, `ours ${mine}, theirs ${other}`));
  return found;
}

/** Compares what was returned of the paid invoices of known subscriptions. */
async function findUnknownReversals(
  { planPayments }: StripeSummary,
  client: Queryable,
): Promise<[invoiceId: string, detail: string][]> {
  const { rows } = await client.query(
    `SELECT p.invoice, coalesce(i.refunded_cents::text, 'no invoice') AS refunded
       FROM unnest($1::text[], $2::text[]) AS p (invoice, subscription)
       JOIN subscriptions s ON s.stripe_subscription_id = p.subscription
       LEFT JOIN invoices i ON i.stripe_invoice_id = p.invoice`,
    [planPayments.map(({ invoiceId }) => invoiceId), planPayments.map(({ subscriptionId }) => subscriptionId)],
  );
  const known = new Map(rows.map(({ invoice, refunded }) => [invoice as string, refunded as string]));
  return planPayments.flatMap(({ invoiceId, totalCents, withdrawnCents }): [string, string][] => {
    const expected = String(Math.min(Math.max(0, totalCents), withdrawnCents));
    const refunded = known.get(invoiceId) ?? expected;
    return refunded === expected ? [] : [[invoiceId, `${refunded} cents, and theirs ${expected}`]];
  });
}

const isReturned = ({ paidCents, returnedCents }: PlanPayment) => paidCents > 0 && returnedCents >= paidCents;

/** Finds subscriptions whose plan is paid by returned payments only. A change without a payment is not one. */
function findReturnedPlans({ customers, planPayments, at }: StripeSummary): [subscriptionId: string, detail: string][] {
  return customers.flatMap(({ subscription }): [string, string][] => {
    if (subscription === null) return [];
    const { id, plan } = subscription;
    const paid = planPayments.filter((payment) => payment.subscriptionId === id && payment.plan === plan);
    const running = paid.filter(({ paidUntil }) => paidUntil > at);
    if (running.length === 0 || !running.every(isReturned)) return [];
    return [[id, `has ${plan}, of which ${running.map(({ invoiceId }) => invoiceId).join(', ')} were returned`]];
  });
}

/** Returns the entries that differ, or that only one side has. */
function findDifferences(ours: Map<string, string>, theirs: Map<string, string>): [string, string, string][] {
  const names = new Set([...ours.keys(), ...theirs.keys()]);
  return [...names]
    .filter((name) => ours.get(name) !== theirs.get(name))
    .map((name) => [name, ours.get(name) ?? 'nothing', theirs.get(name) ?? 'nothing']);
}
