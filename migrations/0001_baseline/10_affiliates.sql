-- The affiliate program: affiliates, referrals, clicks, commissions and payouts.

CREATE TABLE affiliates (
  account_id          bigint      PRIMARY KEY REFERENCES accounts (id),
  code                text        NOT NULL UNIQUE,
  -- The account at the payment processor that receives the payouts.
  connect_account_id  text        UNIQUE,
  connect_onboarded   boolean     NOT NULL DEFAULT false,
  payout_enabled      boolean     NOT NULL DEFAULT false,
  sync_version        bigint      NOT NULL DEFAULT 0,
  synced_at           timestamptz,
  created_at          timestamptz NOT NULL,
  closed_at           timestamptz
);
COMMENT ON COLUMN affiliates.closed_at IS
  'when the account was erased: no referral or commission is added after that';
CREATE INDEX affiliates_pending_onboarding_idx ON affiliates (synced_at)
  WHERE connect_account_id IS NOT NULL AND NOT payout_enabled;

-- Written when the account is created, and never changed.
CREATE TABLE referrals (
  account_id    bigint      PRIMARY KEY REFERENCES accounts (id),
  affiliate_id  bigint      NOT NULL REFERENCES affiliates (account_id),
  network       text,
  clicked_at    timestamptz NOT NULL,
  created_at    timestamptz NOT NULL,
  CHECK (account_id <> affiliate_id)
);
COMMENT ON COLUMN referrals.network IS
  'hash of the network of the sign-up, to compare referrals; NULL: unknown or erased';
CREATE INDEX referrals_affiliate_id_idx ON referrals (affiliate_id, created_at);
CREATE INDEX referrals_created_at_idx ON referrals (created_at);

CREATE TABLE referral_clicks (
  affiliate_id  bigint  NOT NULL REFERENCES affiliates (account_id),
  day           date    NOT NULL,
  clicks        integer NOT NULL,
  PRIMARY KEY (affiliate_id, day)
) WITH (fillfactor = 70);

CREATE TABLE commissions (
  id                  bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  -- One commission per invoice, however often the invoice is synced.
  invoice_id          text        NOT NULL UNIQUE,
  affiliate_id        bigint      NOT NULL REFERENCES affiliates (account_id),
  account_id          bigint      NOT NULL REFERENCES accounts (id),
  -- The amount paid, the part of it that is neither tax nor discount, and the part that was reversed.
  paid_cents          integer     NOT NULL CHECK (paid_cents > 0),
  net_cents           integer     NOT NULL CHECK (net_cents BETWEEN 0 AND paid_cents),
  reversed_cents      integer     NOT NULL CHECK (reversed_cents BETWEEN 0 AND paid_cents),
  amount_cents        integer     NOT NULL CHECK (amount_cents BETWEEN 0 AND net_cents),
  settled_cents       integer     NOT NULL DEFAULT 0,
  outstanding_cents   integer     GENERATED ALWAYS AS (amount_cents - settled_cents) STORED,
  paid_at             timestamptz NOT NULL,
  payable_at          timestamptz NOT NULL,
  is_simulated        boolean     NOT NULL DEFAULT false,
  sync_version        bigint      NOT NULL DEFAULT 0,
  synced_at           timestamptz NOT NULL,
  sync_failing_since  timestamptz,
  created_at          timestamptz NOT NULL
) WITH (fillfactor = 80);
COMMENT ON COLUMN commissions.settled_cents IS
  'sum of its payout items; above amount_cents after a refund, below zero where an item is, or after a rejected payout that followed a reversal';
COMMENT ON COLUMN commissions.outstanding_cents IS 'what later payouts pay, or deduct if it is below zero';
COMMENT ON COLUMN commissions.is_simulated IS 'earned with the simulated processor; never paid out in real money';
COMMENT ON COLUMN commissions.sync_failing_since IS
  'first of the failed syncs of its invoice; NULL if the last one succeeded';
CREATE INDEX commissions_affiliate_id_idx ON commissions (affiliate_id, paid_at);
CREATE INDEX commissions_outstanding_idx ON commissions (affiliate_id, payable_at)
  WHERE outstanding_cents <> 0;
CREATE INDEX commissions_paid_at_idx ON commissions (paid_at);

CREATE TABLE payouts (
  uuid                uuid        PRIMARY KEY,
  affiliate_id        bigint      NOT NULL REFERENCES affiliates (account_id),
  -- First day of the month in which the payout is created.
  month               date        NOT NULL,
  status              text        NOT NULL CHECK (status IN ('pending', 'paid', 'rejected')),
  amount_cents        integer     NOT NULL CHECK (amount_cents > 0),
  connect_account_id  text,
  stripe_transfer_id  text        UNIQUE,
  last_error          text,
  created_at          timestamptz NOT NULL,
  completed_at        timestamptz
);
CREATE UNIQUE INDEX payouts_one_per_month ON payouts (affiliate_id, month) WHERE status <> 'rejected';
CREATE INDEX payouts_affiliate_id_idx ON payouts (affiliate_id, month);
CREATE INDEX payouts_pending_idx ON payouts (created_at) WHERE status = 'pending';

CREATE TABLE payout_items (
  payout_uuid    uuid    NOT NULL REFERENCES payouts (uuid),
  commission_id  bigint  NOT NULL REFERENCES commissions (id),
  -- Negative where more was paid than the commission is still worth, and where a transfer that was found paid less than
  -- the other items.
  amount_cents   integer NOT NULL,
  PRIMARY KEY (payout_uuid, commission_id)
);
CREATE INDEX payout_items_commission_id_idx ON payout_items (commission_id);
