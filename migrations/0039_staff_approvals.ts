import type { Knex } from 'knex';

/** Creates the adjustments of credits that wait for a second member of staff. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE staff_approvals (
      -- Names the adjustment, so that it is posted once. The form sends it: a form that is sent twice requests once.
      uuid          uuid        PRIMARY KEY,
      account_id    bigint      NOT NULL,
      credits       integer     NOT NULL,
      note          text        NOT NULL,
      reason        text        NOT NULL,
      requested_by  bigint      NOT NULL,
      requested_at  timestamptz NOT NULL,
      request_id    text        NOT NULL,
      ip_address    text        NOT NULL,
      decided_by    bigint,
      decided_at    timestamptz,
      outcome       text,
      CONSTRAINT staff_approvals_outcome_check CHECK (outcome IN ('approved', 'rejected')),
      CONSTRAINT staff_approvals_decided_check
        CHECK ((decided_at IS NULL) = (decided_by IS NULL) AND (decided_at IS NULL) = (outcome IS NULL)),
      CONSTRAINT staff_approvals_second_member_check CHECK (decided_by NOT IN (requested_by, account_id))
    );
    CREATE INDEX staff_approvals_pending_idx ON staff_approvals (requested_at) WHERE decided_at IS NULL;
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('DROP TABLE staff_approvals');
}
