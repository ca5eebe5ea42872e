import type { Knex } from 'knex';

/** Sets the fill factor of generations; of each partition if the table is partitioned, since it has none itself. */
const setFillfactor = (percent: number) => `
  DO $$ DECLARE
    part regclass;
  BEGIN
    FOR part IN SELECT oid FROM pg_class
                 WHERE relkind = 'r'
                   AND (oid = 'generations'::regclass
                        OR oid IN (SELECT inhrelid FROM pg_inherits WHERE inhparent = 'generations'::regclass))
    LOOP
      EXECUTE format('ALTER TABLE %s SET (fillfactor = ${percent})', part);
    END LOOP;
  END $$`;

/**
 * Leaves more space in new pages of generations. Until a generation ends, claim, submit and poll rewrite its row, and so
 * in place: without new entries in each index. The lock blocks no reads and no writes.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(setFillfactor(45));
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(setFillfactor(80));
}
