-- Accounts, the people who are members of them, and everything that authenticates both: identities, sessions, sign-in
-- attempts and API keys.

CREATE TABLE accounts (
  id                     bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  uuid                   uuid        NOT NULL UNIQUE,
  -- Of the owner, copied from there, as are name, language, use case and provider.
  email                  text        NOT NULL CHECK (email = lower(email)),
  first_name             text        NOT NULL DEFAULT '',
  language               text        NOT NULL DEFAULT 'en',
  use_case               text        NOT NULL DEFAULT '',
  social_provider        text        NOT NULL,
  onboarding_step        text        NOT NULL DEFAULT 'profile'
    CHECK (onboarding_step IN ('profile', 'plan', 'complete')),
  created_at             timestamptz NOT NULL,
  live_account_id        bigint,
  is_affiliate           boolean     NOT NULL DEFAULT false,
  signed_out_at          timestamptz,
  suspended_at           timestamptz,
  deletion_requested_at  timestamptz,
  erased_at              timestamptz,

  -- The entitlement of the current subscription, copied here so that a charge reads one row. NULL: no plan.
  subscription_id  bigint,
  plan_slug        text,
  spendable_until  timestamptz,
  parallel_limit   integer     NOT NULL DEFAULT 0,

  -- The balance in credits, and the two buckets that add up to it.
  balance        integer NOT NULL DEFAULT 0,
  plan_credits   integer NOT NULL DEFAULT 0 CHECK (plan_credits >= 0),
  topup_credits  integer NOT NULL DEFAULT 0 CHECK (topup_credits >= 0),

  -- The current monthly credit period.
  period_index     integer     NOT NULL DEFAULT 0,
  period_start     timestamptz,
  period_end       timestamptz,
  period_granted   integer     NOT NULL DEFAULT 0,
  period_rollover  integer     NOT NULL DEFAULT 0,
  period_used      integer     NOT NULL DEFAULT 0,
  generation_count_at_period_start bigint NOT NULL DEFAULT 0,

  -- Slots in use, and the last numbers assigned: lists page by number and never count rows.
  in_flight             integer NOT NULL DEFAULT 0 CHECK (in_flight >= 0),
  generation_count      bigint  NOT NULL DEFAULT 0,
  generations_deleted   bigint  NOT NULL DEFAULT 0,
  ledger_count          bigint  NOT NULL DEFAULT 0,
  member_count          integer NOT NULL DEFAULT 0,
  key_count             integer NOT NULL DEFAULT 0,
  active_key_count      integer NOT NULL DEFAULT 0 CHECK (active_key_count >= 0),
  spending_limit_count  integer NOT NULL DEFAULT 0,
  webhook_count         integer NOT NULL DEFAULT 0 CHECK (webhook_count >= 0),

  -- Payment and automatic top-ups.
  stripe_customer_id            text        UNIQUE,
  has_payment_method            boolean     NOT NULL DEFAULT false,
  portal_opened_at              timestamptz,
  auto_topup_enabled            boolean     NOT NULL DEFAULT false,
  auto_topup_amount_cents       integer     NOT NULL DEFAULT 5000 CHECK (auto_topup_amount_cents >= 5000),
  auto_topup_threshold_credits  integer     NOT NULL DEFAULT 0 CHECK (auto_topup_threshold_credits >= 0),
  auto_topup_triggered_at       timestamptz,
  auto_topup_claimed_at         timestamptz,
  auto_topup_declines           smallint    NOT NULL DEFAULT 0,
  auto_topup_problem            text,

  -- Notifications.
  credits_low_threshold  integer     CHECK (credits_low_threshold >= 0),
  credits_low_since      timestamptz,
  email_settings         jsonb       NOT NULL DEFAULT '{}',

  CONSTRAINT accounts_balance_check CHECK (balance = plan_credits + topup_credits),
  -- The price of a test generation is 0, so a test account never moves credits or money.
  CONSTRAINT accounts_test_account_check CHECK (
    live_account_id IS NULL OR (balance = 0 AND plan_credits = 0 AND ledger_count = 0 AND plan_slug IS NULL
      AND stripe_customer_id IS NULL AND NOT auto_topup_enabled AND NOT is_affiliate))
  -- Every charge rewrites this row. Half-filled pages keep that update in place; do not index columns it changes.
) WITH (fillfactor = 50);
COMMENT ON COLUMN accounts.live_account_id IS 'the account that this test account belongs to; NULL: a live account';
COMMENT ON COLUMN accounts.signed_out_at IS
  'when all of its sessions ended last; those from before, which acted on other accounts then, cannot switch to it';
COMMENT ON COLUMN accounts.suspended_at IS
  'since then all credentials of the account are rejected; NULL: not suspended';
COMMENT ON COLUMN accounts.deletion_requested_at IS 'nothing can be created or bought while it is set';
COMMENT ON COLUMN accounts.subscription_id IS
  'the subscription that grants the plan credits; other subscriptions of the account do not affect it';
COMMENT ON COLUMN accounts.generation_count_at_period_start IS
  'generation_count when the period started; later generations count as used in this period';
COMMENT ON COLUMN accounts.member_count IS
  'members that it has had. Statements look up the role and the usage of a member only if it is more than 1';
COMMENT ON COLUMN accounts.spending_limit_count IS 'number of its rows in spending_limits';
COMMENT ON COLUMN accounts.webhook_count IS
  'enabled webhook endpoints; events without an e-mail are written only if it is not 0';
COMMENT ON COLUMN accounts.has_payment_method IS
  'whether the payment processor had a payment method on file at the last sync';
COMMENT ON COLUMN accounts.portal_opened_at IS
  'when a page was last opened on which the plan can be changed: the event of a change may be late';
COMMENT ON COLUMN accounts.auto_topup_triggered_at IS
  'when a burn left the balance below the threshold; NULL once an automatic top-up is claimed or the balance recovers';
COMMENT ON COLUMN accounts.auto_topup_claimed_at IS
  'start of the minimum interval between automatic top-ups, whatever their result';
COMMENT ON COLUMN accounts.auto_topup_problem IS 'why the service switched automatic top-ups off';
COMMENT ON COLUMN accounts.credits_low_threshold IS 'NULL: a tenth of the credits granted for the month';
COMMENT ON COLUMN accounts.credits_low_since IS
  'when credits.low was recorded; NULL again once the balance has recovered';
COMMENT ON COLUMN accounts.email_settings IS 'kinds of messages that the owner has switched on or off';
CREATE INDEX accounts_period_end_idx ON accounts (period_end) WHERE plan_slug IS NOT NULL;
CREATE INDEX accounts_auto_topup_idx ON accounts (id) WHERE auto_topup_enabled;
-- The search of the staff console.
CREATE INDEX accounts_email_prefix_idx ON accounts (email text_pattern_ops);
-- The sign-ups of the staff metrics and reports, and all live accounts by step, without reading rows.
CREATE INDEX accounts_created_at_idx ON accounts (created_at, onboarding_step) WHERE live_account_id IS NULL;
-- An account has at most one test account.
CREATE UNIQUE INDEX accounts_live_account_unique ON accounts (live_account_id) WHERE live_account_id IS NOT NULL;

CREATE TABLE people (
  id               bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  uuid             uuid        NOT NULL UNIQUE,
  email            text        NOT NULL UNIQUE CHECK (email = lower(email)),
  first_name       text        NOT NULL DEFAULT '',
  language         text        NOT NULL DEFAULT 'en',
  use_case         text        NOT NULL DEFAULT '',
  social_provider  text        NOT NULL,
  created_at       timestamptz NOT NULL,
  staff_since      timestamptz,
  current_account_id bigint,
  erased_at        timestamptz
);
-- The search of the staff console.
CREATE INDEX people_email_prefix_idx ON people (email text_pattern_ops);
COMMENT ON TABLE people IS 'those who sign in. Each has an account from the first sign-in on, and may be a member of others';
COMMENT ON COLUMN people.email IS 'verified at the first sign-in; later ones are recognized by their identity';
COMMENT ON COLUMN people.current_account_id IS 'the account that it switched to last, which its next sign-in opens';
COMMENT ON COLUMN people.staff_since IS
  'first sign-in with an address on the staff list; identities linked later get no staff rights';

-- Rows stay after the removal: keys, generations and the logs name their member by its number.
CREATE TABLE members (
  account_id  bigint      NOT NULL REFERENCES accounts (id),
  number      integer     NOT NULL,
  uuid        uuid        NOT NULL UNIQUE,
  person_id   bigint      NOT NULL REFERENCES people (id),
  role        text        NOT NULL CHECK (role IN ('owner', 'admin', 'developer', 'billing', 'viewer')),
  created_at  timestamptz NOT NULL,
  invited_by  integer,
  removed_at  timestamptz,
  PRIMARY KEY (account_id, number)
);
COMMENT ON COLUMN members.number IS 'in its account, from 1 without gaps. The first owner has 1';
COMMENT ON COLUMN members.invited_by IS 'number of the member who invited it; NULL: it opened the account';
COMMENT ON COLUMN members.removed_at IS 'of the owner: when the account was erased';
COMMENT ON COLUMN members.role IS 'of a removed member: its last one, which its keys and applications keep';
CREATE UNIQUE INDEX members_person_unique ON members (person_id, account_id) WHERE removed_at IS NULL;
CREATE UNIQUE INDEX members_owner_unique ON members (account_id) WHERE role = 'owner';

CREATE TABLE invitations (
  uuid         uuid        PRIMARY KEY,
  account_id   bigint      NOT NULL REFERENCES accounts (id),
  email        text        NOT NULL CHECK (email = lower(email)),
  role         text        NOT NULL CHECK (role IN ('admin', 'developer', 'billing', 'viewer')),
  invited_by   integer     NOT NULL,
  created_at   timestamptz NOT NULL,
  sent_count   smallint    NOT NULL DEFAULT 1,
  expires_at   timestamptz NOT NULL,
  accepted_at  timestamptz,
  revoked_at   timestamptz,
  CONSTRAINT invitations_inviter_fkey FOREIGN KEY (account_id, invited_by) REFERENCES members
);
COMMENT ON COLUMN invitations.email IS 'only a person with this address can accept it';
COMMENT ON COLUMN invitations.sent_count IS 'messages that were sent; the link of each is valid until the next one';
CREATE UNIQUE INDEX invitations_open_unique ON invitations (account_id, email)
  WHERE accepted_at IS NULL AND revoked_at IS NULL;
CREATE INDEX invitations_expires_at_idx ON invitations (expires_at);

CREATE TABLE identities (
  provider     text        NOT NULL CHECK (provider IN ('google', 'apple', 'github')),
  -- Subjects are unique within an issuer only.
  issuer       text        NOT NULL,
  -- Permanent identifier of the user at the issuer. Addresses may be reassigned; subjects never are.
  subject      text        NOT NULL,
  uuid         uuid        NOT NULL UNIQUE,
  person_id    bigint      NOT NULL REFERENCES people (id),
  -- The verified address at the time of linking.
  email        text        NOT NULL,
  created_at   timestamptz NOT NULL,
  staff_since  timestamptz,
  PRIMARY KEY (provider, issuer, subject),
  -- A second identity of the same provider belongs to a later owner of the address.
  CONSTRAINT identities_person_provider_key UNIQUE (person_id, provider, issuer)
);
COMMENT ON COLUMN identities.staff_since IS
  'sessions that this identity opens have staff rights; NULL: no staff rights';

CREATE TABLE sessions (
  token_hash     bytea       PRIMARY KEY,
  uuid           uuid        NOT NULL UNIQUE,
  person_id      bigint      NOT NULL REFERENCES people (id),
  account_id     bigint      NOT NULL,
  member_number  integer     NOT NULL,
  identity_uuid  uuid        REFERENCES identities (uuid) ON DELETE SET NULL,
  user_agent     text        NOT NULL DEFAULT '',
  created_at     timestamptz NOT NULL,
  last_used_at   timestamptz NOT NULL,
  expires_at     timestamptz NOT NULL,
  CONSTRAINT sessions_member_fkey FOREIGN KEY (account_id, member_number) REFERENCES members
);
COMMENT ON COLUMN sessions.account_id IS 'the account that it acts on: one that the person is a member of, until they switch';
COMMENT ON COLUMN sessions.identity_uuid IS
  'NULL: signed in with the development sign-in, or the identity was removed';
CREATE INDEX sessions_account_id_idx ON sessions (account_id);
CREATE INDEX sessions_person_id_idx ON sessions (person_id);
CREATE INDEX sessions_expires_at_idx ON sessions (expires_at);
CREATE INDEX sessions_identity_uuid_idx ON sessions (identity_uuid) WHERE identity_uuid IS NOT NULL;

CREATE TABLE sign_in_attempts (
  state_hash            bytea       PRIMARY KEY,
  -- Hash of the cookie of the browser that started the attempt. Only that browser can complete it.
  browser_hash          bytea       NOT NULL,
  provider              text        NOT NULL,
  code_verifier         text        NOT NULL,
  nonce                 text        NOT NULL,
  return_to             text        NOT NULL,
  expires_at            timestamptz NOT NULL,
  linking_session_hash  bytea,
  -- The referral link of the browser. Some providers' callbacks arrive without its cookie.
  referral_code                  text,
  referral_clicked_at            timestamptz,
  referral_signed_in_account_id  bigint,
  referral_network               text
);
COMMENT ON COLUMN sign_in_attempts.linking_session_hash IS
  'session whose person the identity is to be linked to; NULL for a plain sign-in';
CREATE INDEX sign_in_attempts_expires_at_idx ON sign_in_attempts (expires_at);

CREATE TABLE api_keys (
  key_hash            bytea       PRIMARY KEY,
  uuid                uuid        NOT NULL UNIQUE,
  account_id          bigint      NOT NULL REFERENCES accounts (id),
  number              integer     NOT NULL,
  member_number       integer     NOT NULL,
  name                text        NOT NULL,
  prefix              text        NOT NULL,
  test_account_id     bigint,
  lacks_staff_rights  boolean     NOT NULL DEFAULT false,
  created_at          timestamptz NOT NULL,
  last_used_at        timestamptz,
  revoked_at          timestamptz,

  -- Options that restrict the key. A key without any has all rights of its account.
  scopes          text[]
    CHECK (scopes <@ ARRAY['svc:read', 'svc:write', 'account'] AND cardinality(scopes) > 0),
  expires_at      timestamptz,
  allowed_models  text[]  CHECK (cardinality(allowed_models) > 0),
  allowed_ips     cidr[]  CHECK (cardinality(allowed_ips) > 0),
  version         integer NOT NULL DEFAULT 0,
  UNIQUE (account_id, number),
  CONSTRAINT api_keys_member_fkey FOREIGN KEY (account_id, member_number) REFERENCES members
) WITH (fillfactor = 80);
COMMENT ON COLUMN api_keys.member_number IS 'the member who created it, with whose role it acts';
COMMENT ON COLUMN api_keys.test_account_id IS
  'the test account that the key acts on; NULL: a live key, which acts on the account that it belongs to';
COMMENT ON COLUMN api_keys.lacks_staff_rights IS
  'created by a session or a key without the staff rights of its person, or before the account was handed over';
COMMENT ON COLUMN api_keys.scopes IS
  'NULL: the whole account for a key without options, svc:read and svc:write for one with another option';
COMMENT ON COLUMN api_keys.expires_at IS 'NULL: never';
COMMENT ON COLUMN api_keys.allowed_models IS 'slugs of the models that the key may use; NULL: all';
COMMENT ON COLUMN api_keys.allowed_ips IS 'networks from which the key may be used; NULL: all';
COMMENT ON COLUMN api_keys.version IS
  'number of changes of the options; statements reject a request whose process has read earlier ones';
CREATE INDEX api_keys_prefix_idx ON api_keys (prefix);
-- Keys that have expired and are not revoked yet.
CREATE INDEX api_keys_expires_at_idx ON api_keys (expires_at) WHERE revoked_at IS NULL AND expires_at IS NOT NULL;
