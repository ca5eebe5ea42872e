import type { Knex } from 'knex';

/** The affiliate program: who recommends, whom they brought, what that earned, and what was paid out. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE accounts ADD COLUMN is_affiliate boolean NOT NULL DEFAULT false;

    CREATE TABLE affiliates (
      account_id         bigint       PRIMARY KEY REFERENCES accounts (id),
      code               text         NOT NULL UNIQUE,
      -- The account at the payment processor that payouts go to.
      connect_account_id text         UNIQUE,
      connect_onboarded  boolean      NOT NULL DEFAULT false,
      payout_enabled     boolean      NOT NULL DEFAULT false,
      sync_version        bigint       NOT NULL DEFAULT 0,
      synced_at          timestamptz,
      created_at         timestamptz  NOT NULL
    );
    CREATE INDEX affiliates_pending_onboarding_idx ON affiliates (synced_at) WHERE connect_account_id IS NOT NULL AND NOT payout_enabled;

    -- An account is brought by one affiliate, when it is made, for good.
    CREATE TABLE referrals (
      account_id    bigint       PRIMARY KEY REFERENCES accounts (id),
      affiliate_id  bigint       NOT NULL REFERENCES affiliates (account_id),
      clicked_at   timestamptz  NOT NULL,
      created_at    timestamptz  NOT NULL,
      CHECK (account_id <> affiliate_id)
    );
    CREATE INDEX referrals_affiliate_id_idx ON referrals (affiliate_id, created_at);

    CREATE TABLE referral_clicks (
      affiliate_id  bigint   NOT NULL REFERENCES affiliates (account_id),
      day           date     NOT NULL,
      clicks        integer  NOT NULL,
      PRIMARY KEY (affiliate_id, day)
    ) WITH (fillfactor = 70);

    CREATE TABLE commissions (
      id              bigint       GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      -- One for each invoice: however often it is looked at.
      invoice_id      text         NOT NULL UNIQUE,
      affiliate_id    bigint       NOT NULL REFERENCES affiliates (account_id),
      account_id      bigint       NOT NULL REFERENCES accounts (id),
      -- What was paid, what of it was neither tax nor discount, and what of it went back.
      paid_cents      integer      NOT NULL CHECK (paid_cents > 0),
      net_cents       integer      NOT NULL CHECK (net_cents BETWEEN 0 AND paid_cents),
      reversed_cents  integer      NOT NULL CHECK (reversed_cents BETWEEN 0 AND paid_cents),
      amount_cents    integer      NOT NULL CHECK (amount_cents BETWEEN 0 AND net_cents),
      -- What payouts hold of it; more than amount_cents after a refund: the difference is carried.
      settled_cents   integer      NOT NULL DEFAULT 0 CHECK (settled_cents >= 0),
      paid_at         timestamptz  NOT NULL,
      payable_at      timestamptz  NOT NULL,
      -- Earned without a payment processor: no real money is ever paid for it.
      is_simulated    boolean      NOT NULL DEFAULT false,
      sync_version     bigint       NOT NULL DEFAULT 0,
      created_at      timestamptz  NOT NULL
    ) WITH (fillfactor = 80);
    CREATE INDEX commissions_affiliate_id_idx ON commissions (affiliate_id, paid_at);
    CREATE INDEX commissions_outstanding_idx ON commissions (affiliate_id, payable_at) WHERE amount_cents <> settled_cents;

    CREATE TABLE payouts (
      uuid                uuid         PRIMARY KEY,
      affiliate_id        bigint       NOT NULL REFERENCES affiliates (account_id),
      -- The first day of the month that it is made in.
      month               date         NOT NULL,
      status              text         NOT NULL CHECK (status IN ('pending', 'paid', 'refused')),
      amount_cents        integer      NOT NULL CHECK (amount_cents > 0),
      connect_account_id  text,
      stripe_transfer_id  text         UNIQUE,
      problem             text,
      -- When a pending one is looked at again.
      next_attempt_at              timestamptz  NOT NULL,
      created_at          timestamptz  NOT NULL,
      completed_at        timestamptz
    );
    CREATE UNIQUE INDEX payouts_one_per_month ON payouts (affiliate_id, month) WHERE status <> 'refused';
    CREATE INDEX payouts_affiliate_id_idx ON payouts (affiliate_id, month);
    CREATE INDEX payouts_pending_idx ON payouts (next_attempt_at) WHERE status = 'pending';

    CREATE TABLE payout_items (
      payout_uuid    uuid     NOT NULL REFERENCES payouts (uuid),
      commission_id  bigint   NOT NULL REFERENCES commissions (id),
      -- Below zero where more was paid than is earned any more.
      amount_cents   integer  NOT NULL,
      PRIMARY KEY (payout_uuid, commission_id)
    );
    CREATE INDEX payout_items_commission_id_idx ON payout_items (commission_id);

    ALTER TABLE sign_in_attempts
      -- The link that the browser came by: not every provider's answer brings its cookie along.
      ADD COLUMN referral_code         text,
      ADD COLUMN referral_clicked_at  timestamptz,
      ADD COLUMN referral_signed_in_account_id bigint;
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE sign_in_attempts DROP COLUMN referral_code, DROP COLUMN referral_clicked_at,
      DROP COLUMN referral_signed_in_account_id;
    DROP TABLE payout_items, payouts, commissions, referral_clicks, referrals, affiliates;
    ALTER TABLE accounts DROP COLUMN is_affiliate;
  `);
}
