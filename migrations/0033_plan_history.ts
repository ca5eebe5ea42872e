import type { Knex } from 'knex';

/** Creates the plan history of subscriptions, with the current plan of those that exist. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE subscription_plans (
      id                 bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      subscription_id    bigint      NOT NULL REFERENCES subscriptions (id),
      plan_slug          text        NOT NULL,
      -- The price at the payment processor; NULL if the payment was simulated.
      price_id           text,
      -- The invoice that pays for the plan; NULL for a change without an invoice.
      stripe_invoice_id  text,
      applies_from       timestamptz NOT NULL,
      applies_until      timestamptz NOT NULL,
      returned_at        timestamptz,
      UNIQUE (subscription_id, stripe_invoice_id)
    );
    COMMENT ON TABLE subscription_plans IS
      'which plan a subscription was paid for, and when; of several that apply at a time, the latest counts';
    COMMENT ON COLUMN subscription_plans.applies_from IS
      'start of the year of an annual invoice, payment of an upgrade, or when a change without an invoice was seen';
    COMMENT ON COLUMN subscription_plans.applies_until IS 'end of the year that was paid';
    COMMENT ON COLUMN subscription_plans.returned_at IS
      'when refunds and lost disputes had returned the whole payment, so that the plan no longer applies';
    CREATE INDEX subscription_plans_applies_from_idx ON subscription_plans (subscription_id, applies_from);

    -- The next sync of a subscription adds the plans of its invoices.
    INSERT INTO subscription_plans (subscription_id, plan_slug, applies_from, applies_until)
    SELECT id, plan_slug, started_at, greatest(paid_until, current_period_end)
      FROM subscriptions WHERE activated_at IS NOT NULL;
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('DROP TABLE subscription_plans');
}
