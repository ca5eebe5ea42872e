import type { Knex } from 'knex';

/** Stores from which event on a webhook endpoint receives them, and which API keys were made without staff rights. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE webhook_endpoints
      ADD COLUMN after_event_id bigint NOT NULL DEFAULT coalesce(pg_sequence_last_value('outbox_events_id_seq'), 0);
    COMMENT ON COLUMN webhook_endpoints.after_event_id IS
      'last event that was recorded before it was created or enabled; it receives those with a larger id';

    ALTER TABLE api_keys ADD COLUMN lacks_staff_rights boolean NOT NULL DEFAULT false;
    COMMENT ON COLUMN api_keys.lacks_staff_rights IS
      'created for a staff account by a session, or a key, that had no staff rights';
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE api_keys DROP COLUMN lacks_staff_rights;
    ALTER TABLE webhook_endpoints DROP COLUMN after_event_id;
  `);
}
