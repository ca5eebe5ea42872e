import type { Knex } from 'knex';

/** Stores since when a webhook endpoint is enabled, and which API keys were made without staff rights. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE webhook_endpoints ADD COLUMN enabled_at timestamptz;
    COMMENT ON COLUMN webhook_endpoints.enabled_at IS
      'when it was last enabled again, NULL: at its creation; it receives no events from before';

    ALTER TABLE api_keys ADD COLUMN lacks_staff_rights boolean NOT NULL DEFAULT false;
    COMMENT ON COLUMN api_keys.lacks_staff_rights IS
      'created for a staff account by a session, or a key, that had no staff rights';
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE api_keys DROP COLUMN lacks_staff_rights;
    ALTER TABLE webhook_endpoints DROP COLUMN enabled_at;
  `);
}
