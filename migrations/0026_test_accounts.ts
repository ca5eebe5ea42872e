import type { Knex } from 'knex';

/** Functions of the staff metrics, which count test accounts and their generations only before this migration. */
const buildMetricFunctions = ({ countsTests }: { countsTests: boolean }) => `
    CREATE OR REPLACE FUNCTION track_account_metrics() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        ${countsTests ? '' : 'IF coalesce(NEW.live_account_id, OLD.live_account_id) IS NOT NULL THEN RETURN NULL; END IF;'}
        IF TG_OP <> 'INSERT' THEN PERFORM add_account_metric_delta(OLD.onboarding_step, OLD.created_at, -1); END IF;
        IF TG_OP <> 'DELETE' THEN PERFORM add_account_metric_delta(NEW.onboarding_step, NEW.created_at, 1); END IF;
        RETURN NULL;
      END
    $$;
    CREATE OR REPLACE FUNCTION track_created_generation_metrics() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        INSERT INTO metric_deltas
        SELECT 'usage', model, (created_at AT TIME ZONE 'UTC')::date, count(*),
               sum(CASE WHEN status = 'failed' THEN 0 ELSE credits_charged END)
          FROM created ${countsTests ? '' : 'WHERE NOT is_test'} GROUP BY 2, 3
         UNION ALL
        SELECT 'cost', model, (created_at AT TIME ZONE 'UTC')::date, count(*), sum(provider_cost_cents)
          FROM created WHERE provider_cost_cents IS NOT NULL ${countsTests ? '' : 'AND NOT is_test'} GROUP BY 2, 3;
        RETURN NULL;
      END
    $$;
    CREATE OR REPLACE FUNCTION track_updated_generation_metrics() RETURNS trigger LANGUAGE plpgsql AS $$
      DECLARE
        day date := (NEW.created_at AT TIME ZONE 'UTC')::date;
      BEGIN
        ${countsTests ? '' : 'IF NEW.is_test THEN RETURN NULL; END IF;'}
        IF (OLD.status = 'failed') <> (NEW.status = 'failed') THEN
          INSERT INTO metric_deltas VALUES ('usage', NEW.model, day, 0,
            CASE WHEN NEW.status = 'failed' THEN -NEW.credits_charged ELSE NEW.credits_charged END);
        END IF;
        IF OLD.provider_cost_cents IS DISTINCT FROM NEW.provider_cost_cents THEN
          INSERT INTO metric_deltas VALUES ('cost', NEW.model, day,
            (NEW.provider_cost_cents IS NOT NULL)::int - (OLD.provider_cost_cents IS NOT NULL)::int,
            coalesce(NEW.provider_cost_cents, 0) - coalesce(OLD.provider_cost_cents, 0));
        END IF;
        RETURN NULL;
      END
    $$;`;

/** Creates test accounts, which belong to a live account and never have credits, and the test keys that act on them. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE accounts ADD COLUMN live_account_id bigint;
    COMMENT ON COLUMN accounts.live_account_id IS 'the account that this test account belongs to; NULL: a live account';
    -- Its price is 0, so nothing of it ever moves credits or money.
    ALTER TABLE accounts ADD CONSTRAINT accounts_test_account_check CHECK (
      live_account_id IS NULL OR (balance = 0 AND plan_credits = 0 AND ledger_count = 0 AND plan_slug IS NULL
        AND stripe_customer_id IS NULL AND NOT auto_topup_enabled AND NOT is_affiliate)) NOT VALID;

    ALTER TABLE api_keys ADD COLUMN test_account_id bigint;
    COMMENT ON COLUMN api_keys.test_account_id IS
      'the test account that the key acts on; NULL: a live key, which acts on the account that it belongs to';

    ALTER TABLE generations ADD COLUMN is_test boolean NOT NULL DEFAULT false;
    COMMENT ON COLUMN generations.is_test IS 'of a test account: costs nothing, and is run by the test upstream only';
    ALTER TABLE generations DROP CONSTRAINT generations_credits_charged_check;
    ALTER TABLE generations ADD CONSTRAINT generations_test_price_check
      CHECK (credits_charged >= 0 AND is_test = (credits_charged = 0)) NOT VALID;
    -- Stops workers of the previous release, too, which do not distinguish test generations.
    ALTER TABLE generations ADD CONSTRAINT generations_test_upstream_check
      CHECK (upstream IS NULL OR is_test = (upstream = 'test-mode')) NOT VALID;
    ${buildMetricFunctions({ countsTests: false })}
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    ${buildMetricFunctions({ countsTests: true })}
    ALTER TABLE generations
      DROP CONSTRAINT generations_test_price_check,
      DROP CONSTRAINT generations_test_upstream_check,
      ADD CONSTRAINT generations_credits_charged_check CHECK (credits_charged > 0) NOT VALID,
      DROP COLUMN is_test;
    ALTER TABLE api_keys DROP COLUMN test_account_id;
    ALTER TABLE accounts DROP CONSTRAINT accounts_test_account_check, DROP COLUMN live_account_id;
  `);
}
