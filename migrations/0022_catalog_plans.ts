import type { Knex } from 'knex';

/** Creates the table of released plans, which contains the default plans from the start. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE catalog_plans (
      slug                 text        PRIMARY KEY,
      name                 text        NOT NULL,
      price_monthly_cents  integer     NOT NULL CHECK (price_monthly_cents > 0),
      price_yearly_cents   integer     NOT NULL CHECK (price_yearly_cents > 0),
      monthly_credits      integer     NOT NULL CHECK (monthly_credits > 0),
      parallel_limit       integer     NOT NULL CHECK (parallel_limit > 0),
      released_at          timestamptz,
      sold_at              timestamptz,
      removed_at           timestamptz
    );
    COMMENT ON TABLE catalog_plans IS 'every plan that was released; its terms stay, also after it was removed';
    COMMENT ON COLUMN catalog_plans.released_at IS 'first release of a CATALOG with this plan; NULL: a default plan';
    COMMENT ON COLUMN catalog_plans.sold_at IS 'first subscription to the plan, written by a trigger';
    COMMENT ON COLUMN catalog_plans.removed_at IS 'when a release no longer contained the plan; NULL: the last one does';

    -- The first subscription waits here for a release in progress, which locks the table.
    CREATE FUNCTION mark_plan_sold() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        UPDATE catalog_plans SET sold_at = now() WHERE slug = NEW.plan_slug AND sold_at IS NULL;
        RETURN NULL;
      END
    $$;
    CREATE TRIGGER subscriptions_mark_plan_sold AFTER INSERT ON subscriptions
      FOR EACH ROW EXECUTE FUNCTION mark_plan_sold();
    CREATE TRIGGER subscriptions_mark_plan_sold_on_update AFTER UPDATE OF plan_slug ON subscriptions
      FOR EACH ROW WHEN (OLD.plan_slug <> NEW.plan_slug) EXECUTE FUNCTION mark_plan_sold();

    -- Subscriptions do not record the plans that they had before, so all plans count as sold once there is one.
    INSERT INTO catalog_plans (slug, name, price_monthly_cents, price_yearly_cents, monthly_credits, parallel_limit, sold_at)
    SELECT plan.*, CASE WHEN EXISTS (SELECT FROM subscriptions) THEN now() END
      FROM (VALUES ('lite', 'Lite', 600, 7200, 200, 2), ('starter', 'Starter', 1200, 14400, 400, 3),
                   ('pro', 'Pro', 2900, 34800, 1100, 5), ('studio', 'Studio', 7500, 90000, 3000, 8)) AS plan;
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    DROP TRIGGER subscriptions_mark_plan_sold_on_update ON subscriptions;
    DROP TRIGGER subscriptions_mark_plan_sold ON subscriptions;
    DROP FUNCTION mark_plan_sold;
    DROP TABLE catalog_plans;
  `);
}
