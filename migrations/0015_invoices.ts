import type { Knex } from 'knex';

/** Creates the list of invoices, and adds the amounts of paid top-ups without tax and discounts. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE invoices (
      uuid                uuid         PRIMARY KEY,
      account_id          bigint       NOT NULL REFERENCES accounts (id),
      kind                text         NOT NULL CHECK (kind IN ('subscription', 'topup')),
      subscription_id     bigint       REFERENCES subscriptions (id),
      topup_uuid          uuid         UNIQUE REFERENCES topups (uuid),
      stripe_invoice_id   text         UNIQUE,
      number              text,
      description         text         NOT NULL,
      status              text         NOT NULL CHECK (status IN ('open', 'paid', 'void', 'uncollectible')),
      currency            text         NOT NULL,
      total_cents         bigint       NOT NULL,
      tax_cents           bigint       NOT NULL,
      discount_cents      bigint       NOT NULL,
      net_cents           bigint       NOT NULL,
      refunded_cents      bigint       NOT NULL DEFAULT 0,
      hosted_invoice_url  text,
      pdf_url             text,
      sync_version        bigint       NOT NULL DEFAULT 0,
      attempts            integer      NOT NULL DEFAULT 0,
      last_error          text,
      next_attempt_at     timestamptz,
      created_at          timestamptz  NOT NULL,
      paid_at             timestamptz,
      CHECK ((kind = 'topup') = (topup_uuid IS NOT NULL)),
      CHECK ((kind = 'subscription') = (subscription_id IS NOT NULL)),
      CHECK (net_cents = total_cents - tax_cents)
    );
    COMMENT ON COLUMN invoices.stripe_invoice_id IS 'null until the payment processor has issued it, and for simulated payments';
    COMMENT ON COLUMN invoices.total_cents IS 'with tax and after discounts';
    COMMENT ON COLUMN invoices.refunded_cents IS 'part of the total that was refunded or is disputed';
    COMMENT ON COLUMN invoices.next_attempt_at IS 'when the invoice of a paid top-up is issued or searched for next';
    CREATE INDEX invoices_account_id_idx ON invoices (account_id, created_at DESC, uuid DESC);
    CREATE INDEX invoices_subscription_id_idx ON invoices (subscription_id) WHERE status = 'open';
    CREATE INDEX invoices_next_attempt_idx ON invoices (next_attempt_at) WHERE next_attempt_at IS NOT NULL;

    ALTER TABLE topups
      ADD COLUMN net_cents integer,
      ADD COLUMN tax_cents integer,
      ADD COLUMN discount_cents integer;
    COMMENT ON COLUMN topups.net_cents IS
      'paid amount without tax and after discounts, which the credits are bought with; null until it is paid, and if it was paid before this column existed: then amount_cents';

    -- The same sums as before for top-ups without tax and discounts.
    CREATE OR REPLACE FUNCTION track_topup_metrics() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF TG_OP <> 'INSERT' THEN
          PERFORM add_topup_metric_delta(OLD.kind, OLD.status, OLD.completed_at,
                                         coalesce(OLD.net_cents, OLD.amount_cents) - OLD.reversed_cents, -1);
        END IF;
        IF TG_OP <> 'DELETE' THEN
          PERFORM add_topup_metric_delta(NEW.kind, NEW.status, NEW.completed_at,
                                         coalesce(NEW.net_cents, NEW.amount_cents) - NEW.reversed_cents, 1);
        END IF;
        RETURN NULL;
      END
    $$;
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE OR REPLACE FUNCTION track_topup_metrics() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF TG_OP <> 'INSERT' THEN
          PERFORM add_topup_metric_delta(OLD.kind, OLD.status, OLD.completed_at, OLD.amount_cents - OLD.reversed_cents, -1);
        END IF;
        IF TG_OP <> 'DELETE' THEN
          PERFORM add_topup_metric_delta(NEW.kind, NEW.status, NEW.completed_at, NEW.amount_cents - NEW.reversed_cents, 1);
        END IF;
        RETURN NULL;
      END
    $$;
    ALTER TABLE topups DROP COLUMN net_cents, DROP COLUMN tax_cents, DROP COLUMN discount_cents;
    DROP TABLE invoices;
  `);
}
