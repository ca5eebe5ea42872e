-- Subscriptions with their plans and renewals, and the reference from an account to its current one.

CREATE TABLE subscriptions (
  id                      bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  uuid                    uuid        NOT NULL UNIQUE,
  account_id              bigint      NOT NULL REFERENCES accounts (id),
  plan_slug               text        NOT NULL,
  status                  text        NOT NULL
    CHECK (status IN ('active', 'past_due', 'canceled', 'unpaid', 'incomplete')),
  processor               text        NOT NULL,
  stripe_subscription_id  text        UNIQUE,
  created_at              timestamptz NOT NULL,
  started_at              timestamptz NOT NULL,
  activated_at            timestamptz,
  current_period_end      timestamptz NOT NULL,
  paid_until              timestamptz NOT NULL,
  past_due_since          timestamptz,
  cancel_at_period_end    boolean     NOT NULL DEFAULT false,
  ended_at                timestamptz,
  disputed_charge_id      text,
  refunded_upgrade        text,

  -- A pending action at the payment processor, and the state of the sync with it.
  follow_up     text        CHECK (follow_up IN ('resolve', 'cancel', 'refund')),
  sync_version  bigint      NOT NULL DEFAULT 0,
  synced_at     timestamptz
);
COMMENT ON COLUMN subscriptions.activated_at IS 'when its first month was granted';
COMMENT ON COLUMN subscriptions.ended_at IS 'when it was canceled';
COMMENT ON COLUMN subscriptions.disputed_charge_id IS 'synced again until the dispute is closed';
COMMENT ON COLUMN subscriptions.refunded_upgrade IS 'the plan whose upgrade was refunded in the current year';
COMMENT ON COLUMN subscriptions.follow_up IS
  'pending action at the processor: resolve which of two live subscriptions stays, cancel, or cancel and refund';
COMMENT ON COLUMN subscriptions.sync_version IS
  'version of the last applied snapshot of the processor; older snapshots are ignored';
-- An account has at most one subscription that credits can be spent under.
CREATE UNIQUE INDEX subscriptions_one_live_per_account ON subscriptions (account_id)
  WHERE status IN ('active', 'past_due');
CREATE INDEX subscriptions_account_id_idx ON subscriptions (account_id, id);
CREATE INDEX subscriptions_current_period_end_idx ON subscriptions (current_period_end)
  WHERE status IN ('active', 'past_due');
CREATE INDEX subscriptions_past_due_since_idx ON subscriptions (past_due_since) WHERE status = 'past_due';
-- The staff metrics and reports count live subscriptions, and those that started and ended in a range.
CREATE INDEX subscriptions_live_plan_idx ON subscriptions (plan_slug, cancel_at_period_end)
  WHERE status IN ('active', 'past_due');
CREATE INDEX subscriptions_activated_at_idx ON subscriptions (activated_at, plan_slug) WHERE activated_at IS NOT NULL;
CREATE INDEX subscriptions_ended_at_idx ON subscriptions (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX subscriptions_refunded_upgrade_idx ON subscriptions (id) WHERE refunded_upgrade IS NOT NULL;
CREATE INDEX subscriptions_synced_at_idx ON subscriptions (synced_at) WHERE stripe_subscription_id IS NOT NULL;

-- The two tables refer to each other, so this reference is added last.
ALTER TABLE accounts ADD FOREIGN KEY (subscription_id) REFERENCES subscriptions (id);

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

CREATE TABLE subscription_renewals (
  subscription_id  bigint      NOT NULL REFERENCES subscriptions (id),
  -- End of the paid year that was followed by another one.
  due_at           timestamptz NOT NULL,
  plan_slug        text        NOT NULL,
  PRIMARY KEY (subscription_id, due_at)
);
CREATE INDEX subscription_renewals_due_at_idx ON subscription_renewals (due_at);

-- A renewal adds about a year. Smaller steps are corrections of the same year.
CREATE FUNCTION record_subscription_renewal() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO subscription_renewals (subscription_id, due_at, plan_slug)
    VALUES (NEW.id, OLD.paid_until, NEW.plan_slug)
    ON CONFLICT DO NOTHING;
    RETURN NULL;
  END
$$;
CREATE TRIGGER subscriptions_record_renewal AFTER UPDATE OF paid_until ON subscriptions
  FOR EACH ROW WHEN (OLD.activated_at IS NOT NULL AND NEW.paid_until >= OLD.paid_until + interval '300 days')
  EXECUTE FUNCTION record_subscription_renewal();
