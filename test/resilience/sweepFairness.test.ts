import { expect } from 'chai';
import { INSERT_OWNERS } from '../../dev/insertOwners.ts';
import { addMonths } from '../../shared/lib/calendar.ts';
import type { TestCustomer } from '../harness/apiClient.ts';
import { enableAutoTopups, sweepAutoTopups } from '../harness/autoTopups.ts';
import { useBillingService } from '../harness/billingService.ts';
import { runJob } from '../harness/jobs.ts';

/** More than a sweep reads at once. */
const MORE_THAN_A_BATCH = { autoTopups: 110, creditPeriods: 1_010 };

/** Arguments of `jsonb_build_object`, from expressions by column. */
const formatOverrides = (values: Record<string, string>) =>
  Object.entries(values)
    .map(([column, expression]) => `'${column}', ${expression}`)
    .join(', ');

describe('sweeps that read the oldest rows first', () => {
  const billing = useBillingService();

  const findAccount = async ({ email }: TestCustomer) =>
    (await billing.service.sql('SELECT * FROM accounts WHERE email = $1', [email]))[0];

  /**
   * Inserts copies of an account, with a subscription each, that differ in some columns.
   * @param columns expressions by column; `n` is the number of the copy, from 1.
   */
  async function insertCopies(
    customer: TestCustomer,
    count: number,
    columns: { account: Record<string, string>; subscription?: Record<string, string> },
  ): Promise<void> {
    const { id } = await findAccount(customer);
    await billing.service.sql(
      `WITH copy AS (
         SELECT n, a.id + 1000000 + n AS id, s.id AS subscription_id
           FROM accounts a JOIN subscriptions s ON s.id = a.subscription_id, generate_series(1, ${count}) AS n
          WHERE a.id = ${id}
       ), account AS (
         INSERT INTO accounts OVERRIDING SYSTEM VALUE
         SELECT (jsonb_populate_record(a, jsonb_build_object('id', copy.id, 'uuid', gen_random_uuid(),
                   'email', 'copy-' || copy.id || '@example.com', 'referral_code', NULL, 'subscription_id', NULL,
                   'member_count', 0,
                   ${formatOverrides(columns.account)}))).*
           FROM copy JOIN accounts a ON a.id = ${id}
       )
       SELECT 1`,
    );
    await billing.service.sql(INSERT_OWNERS);
    if (columns.subscription === undefined) return;
    await billing.service.sql(
      `INSERT INTO subscriptions OVERRIDING SYSTEM VALUE
       SELECT (jsonb_populate_record(s, jsonb_build_object('id', s.id + 1000000 + n, 'uuid', gen_random_uuid(),
                 'account_id', a.id + 1000000 + n, 'stripe_subscription_id', 'sub_copy_' || n,
                 ${formatOverrides(columns.subscription)}))).*
         FROM accounts a JOIN subscriptions s ON s.id = a.subscription_id, generate_series(1, ${count}) AS n
        WHERE a.id = ${id};
       UPDATE accounts SET subscription_id = s.id FROM subscriptions s
        WHERE s.account_id = accounts.id AND accounts.id > 1000000`,
    );
  }

  const deleteCopies = () =>
    billing.service.sql(
      `UPDATE accounts SET subscription_id = NULL WHERE id > 1000000;
       DELETE FROM subscriptions WHERE account_id > 1000000;
       WITH removed AS (DELETE FROM members WHERE account_id > 1000000 RETURNING person_id)
       DELETE FROM people p USING removed WHERE p.id = removed.person_id;
       DELETE FROM accounts WHERE id > 1000000`,
    );

  it('charge an automatic top-up behind a full batch of accounts that have no customer at the processor', async () => {
    const customer = await billing.createCustomer('lite');
    await enableAutoTopups(customer, { auto_topup_threshold_credits: 1_000 });
    await billing.service.sql('UPDATE accounts SET auto_topup_triggered_at = now() WHERE email = $1', [customer.email]);
    await insertCopies(customer, MORE_THAN_A_BATCH.autoTopups, {
      account: { stripe_customer_id: 'NULL', auto_topup_triggered_at: `now() - interval '1 day'` },
    });
    await sweepAutoTopups(billing.service);
    await billing.drained();
    expect((await customer.ledger()).map(([type]) => type)).to.include('topup');
    await deleteCopies();
  });

  it('sync the subscriptions that were synced least recently first, and those whose sync failed an hour later', async () => {
    const customers = [await billing.createCustomer('lite'), await billing.createCustomer('lite')];
    const ids = customers.map((customer) => billing.subscription(customer).id) as [string, string];
    // Too old to be listed as recent.
    for (const id of ids) billing.stripe.store.get('subscription', id).created -= 40 * 86_400;
    for (const [index, id] of ids.entries()) {
      const age = `${2 + index} days`;
      await billing.service.sql(
        'UPDATE subscriptions SET synced_at = now() - cast($2 AS interval) WHERE stripe_subscription_id = $1',
        [id, age],
      );
    }
    const from = billing.stripe.requests.length;
    billing.stripe.faults['subscriptions.retrieve'] = 'error';
    await runJob(billing, 'billing', 'payments.reconcile');
    billing.stripe.reset();
    const rows = await billing.service.sql(
      `SELECT 1 FROM subscriptions WHERE stripe_subscription_id = ANY ($1)
          AND synced_at BETWEEN now() - interval '23 hours 5 minutes' AND now() - interval '23 hours'`,
      [ids],
    );
    expect(rows).to.have.length(2);
    const synced = billing.stripe.requests
      .slice(from)
      .filter(({ name }) => name === 'subscriptions.retrieve')
      .map(({ path }) => path.split('/').at(-1) as string);
    // Each request is repeated once.
    expect([...new Set(synced.filter((id) => ids.includes(id)))]).to.deep.equal(ids.toReversed());
  });

  it('renew a credit period behind a full batch of suspended accounts, although the database rejects another account', async () => {
    const [customer, refused] = [await billing.createCustomer('lite'), await billing.createCustomer('lite')];
    const account = await findAccount(customer);
    const { id: refusedId } = await findAccount(refused);
    const startedAt = new Date(Date.now() - 40 * 86_400_000);
    const endedAt = addMonths(startedAt, 1);
    await insertCopies(customer, MORE_THAN_A_BATCH.creditPeriods, {
      account: { period_end: `now() - interval '20 days'`, stripe_customer_id: `'cus_copy_' || n` },
      subscription: { status: `'past_due'` },
    });
    await billing.service.sql('UPDATE subscriptions SET started_at = $1 WHERE account_id = ANY($2)', [
      startedAt,
      [account.id, refusedId],
    ]);
    await billing.service.sql(
      'UPDATE subscription_plans SET applies_from = $1 WHERE subscription_id IN (SELECT id FROM subscriptions WHERE account_id = ANY($2))',
      [startedAt, [account.id, refusedId]],
    );
    await billing.service.sql('UPDATE accounts SET period_end = $1 WHERE id = ANY($2)', [
      endedAt,
      [account.id, refusedId],
    ]);
    await billing.service.sql(
      `ALTER TABLE ledger_entries ADD CONSTRAINT rejected_by_test CHECK (account_id <> ${refusedId}) NOT VALID`,
    );
    await runJob(billing, 'maintenance', 'creditPeriods.renew');
    const periods = async () =>
      (
        await billing.service.sql('SELECT period_index FROM accounts WHERE id = ANY($1) ORDER BY id', [
          [account.id, refusedId],
        ])
      ).map(({ period_index: index }) => index as number);
    expect(await periods()).to.deep.equal([1, 0]);
    await billing.service.sql('ALTER TABLE ledger_entries DROP CONSTRAINT rejected_by_test');
    await deleteCopies();
    await runJob(billing, 'maintenance', 'creditPeriods.renew');
    expect(await periods()).to.deep.equal([1, 1]);
  });
});
