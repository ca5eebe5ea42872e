import type { Knex } from 'knex';

/** Creates the audit log of staff actions, and the time since which an account is suspended. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE accounts ADD COLUMN suspended_at timestamptz;
    COMMENT ON COLUMN accounts.suspended_at IS 'since then all credentials of the account are rejected; NULL: not suspended';

    CREATE TABLE audit_entries (
      -- Version 7: entries are ordered by time through their uuid.
      uuid              uuid        PRIMARY KEY,
      created_at        timestamptz NOT NULL,
      -- Exactly one of the two: the staff account, or the system user who ran a command.
      actor_account_id  bigint,
      command_user       text,
      role              text        NOT NULL,
      action            text        NOT NULL,
      -- The affected account. NULL: the action affects no single account.
      account_id        bigint,
      -- Kind and identifier of what was changed, such as generation 0190... .
      target_type       text        NOT NULL,
      target_id         text        NOT NULL,
      reason            text        NOT NULL,
      before            jsonb,
      after             jsonb,
      request_id        text,
      ip_address        text,
      CONSTRAINT audit_entries_actor_check CHECK ((actor_account_id IS NULL) <> (command_user IS NULL))
    );
    CREATE INDEX audit_entries_account_idx ON audit_entries (account_id, uuid) WHERE account_id IS NOT NULL;
    CREATE INDEX audit_entries_actor_idx ON audit_entries (actor_account_id, uuid) WHERE actor_account_id IS NOT NULL;

    CREATE FUNCTION reject_audit_rewrite() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        RAISE EXCEPTION 'audit_entries is append-only: % rejected', TG_OP;
      END
    $$;
    CREATE TRIGGER audit_entries_append_only BEFORE UPDATE OR DELETE ON audit_entries
      FOR EACH ROW EXECUTE FUNCTION reject_audit_rewrite();
    CREATE TRIGGER audit_entries_no_truncate BEFORE TRUNCATE ON audit_entries
      FOR EACH STATEMENT EXECUTE FUNCTION reject_audit_rewrite();
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    DROP TABLE audit_entries;
    DROP FUNCTION reject_audit_rewrite;
    ALTER TABLE accounts DROP COLUMN suspended_at;
  `);
}
