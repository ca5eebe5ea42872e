import type { Knex } from 'knex';

/** Creates the append-only credit ledger and the usage sums that a charge updates. */
export async function up(knex: Knex): Promise<void> {
  // Tables that a charge writes have no foreign keys: account_id comes from the account row that the same statement has
  // just updated, and checking it again cost a quarter of the throughput.
  await knex.raw(`
    CREATE TABLE ledger_entries (
      account_id       bigint      NOT NULL,
      number           bigint      NOT NULL,
      uuid             uuid        NOT NULL DEFAULT gen_random_uuid(),
      entry_type       text        NOT NULL
        CHECK (entry_type IN ('grant', 'burn', 'refund', 'rollover', 'expiry', 'topup')),
      amount           integer     NOT NULL,
      plan_amount      integer     NOT NULL,
      balance_after    integer     NOT NULL CHECK (balance_after >= 0),
      description      text        NOT NULL,
      generation_uuid  uuid,
      effect_key       text,
      created_at       timestamptz NOT NULL,
      PRIMARY KEY (account_id, number)
    );
    COMMENT ON COLUMN ledger_entries.plan_amount IS 'the part of amount that was posted to the plan bucket';
    COMMENT ON COLUMN ledger_entries.effect_key IS
      'unique key of an effect that must be posted once; entries of a generation use generation_uuid instead';
    -- Keys include the account, so that the table can be partitioned by it.
    CREATE UNIQUE INDEX ledger_entries_generation_entry_type_unique ON ledger_entries
      (generation_uuid, entry_type, account_id) WHERE generation_uuid IS NOT NULL;
    CREATE UNIQUE INDEX ledger_entries_effect_key_unique ON ledger_entries (effect_key, account_id)
      WHERE effect_key IS NOT NULL;

    CREATE FUNCTION reject_ledger_rewrite() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        RAISE EXCEPTION 'ledger_entries is append-only: % rejected', TG_OP;
      END
    $$;
    CREATE TRIGGER ledger_entries_append_only BEFORE UPDATE OR DELETE ON ledger_entries
      FOR EACH ROW EXECUTE FUNCTION reject_ledger_rewrite();
    CREATE TRIGGER ledger_entries_no_truncate BEFORE TRUNCATE ON ledger_entries
      FOR EACH STATEMENT EXECUTE FUNCTION reject_ledger_rewrite();

    CREATE TABLE usage_days (
      account_id   bigint  NOT NULL,
      day          date    NOT NULL,
      model        text    NOT NULL,
      credits      bigint  NOT NULL,
      generations  integer NOT NULL,
      PRIMARY KEY (account_id, day, model)
    ) WITH (fillfactor = 70);

    -- Sums since the account was created. Reading them costs the same however old the account is.
    CREATE TABLE usage_totals (
      account_id   bigint  NOT NULL,
      model        text    NOT NULL,
      credits      bigint  NOT NULL,
      generations  bigint  NOT NULL,
      PRIMARY KEY (account_id, model)
    ) WITH (fillfactor = 50);
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    DROP TABLE usage_totals, usage_days, ledger_entries;
    DROP FUNCTION reject_ledger_rewrite;
  `);
}
