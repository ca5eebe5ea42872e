import type { Knex } from 'knex';

/** Records the API key of each generation, and sums the usage of each key. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE generations ADD COLUMN api_key_number integer;
    COMMENT ON COLUMN generations.api_key_number IS
      'number of the API key that created it; NULL: a session or an assistant, or created before keys were recorded';

    -- Sums since the first generation of the key. Not in api_keys, whose rows every request reads and a charge must not lock.
    CREATE TABLE usage_keys (
      account_id   bigint   NOT NULL,
      key_number   integer  NOT NULL,
      credits      bigint   NOT NULL,
      generations  bigint   NOT NULL,
      PRIMARY KEY (account_id, key_number)
    ) WITH (fillfactor = 50);

    -- A trigger and not a part of the refund's statement, so that workers of the previous release subtract as well.
    CREATE FUNCTION subtract_refund_from_key() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        UPDATE usage_keys SET credits = credits - NEW.credits_charged
         WHERE account_id = NEW.account_id AND key_number = NEW.api_key_number;
        RETURN NULL;
      END
    $$;
    CREATE TRIGGER generations_subtract_refund_from_key AFTER UPDATE OF status ON generations
      FOR EACH ROW WHEN (OLD.status <> 'failed' AND NEW.status = 'failed' AND NEW.api_key_number IS NOT NULL)
      EXECUTE FUNCTION subtract_refund_from_key();
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    DROP TRIGGER generations_subtract_refund_from_key ON generations;
    DROP FUNCTION subtract_refund_from_key;
    DROP TABLE usage_keys;
    ALTER TABLE generations DROP COLUMN api_key_number;
  `);
}
