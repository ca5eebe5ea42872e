import type { SeededBug } from './seededBug.ts';

const COMPLETE = 'shared/domain/generations/execution/completeOrFail.ts';

/** Bugs in recording, dispatching and delivering events. */
export const WEBHOOK_BUGS: readonly SeededBug[] = [
  {
    name: 'the event of an ended generation is written after the commit, by a statement of its own',
    changes: [
      ...['completeGenerations.sql', 'failGenerations.sql'].map((name) => ({
        file: `shared/domain/generations/execution/${name}`,
        find: 'FROM ended WHERE has_webhook',
        replace: 'FROM ended WHERE has_webhook AND false',
      })),
      {
        file: COMPLETE,
        within: 'createEndBatcher',
        find: 'const $busy = new Set($rows.filter((row) => row.is_busy).map((row) => row.uuid));',
        replace: `
          const $busy = new Set($rows.filter((row) => row.is_busy).map((row) => row.uuid));
          await runStatement(
            prepared(
              'record_late_events',
              \`INSERT INTO outbox_events (account_id, type, subject, created_at, next_attempt_at)
               SELECT r.account_id, cast(:type AS text), r.uuid, cast(:now AS timestamptz), cast(:now AS timestamptz)
                 FROM json_to_recordset(:late) AS r (uuid text, account_id bigint)
               ON CONFLICT (account_id, type, subject) DO NOTHING\`,
            ),
            {
              type: statement === CALL_COMPLETE ? 'generation.succeeded' : 'generation.failed',
              late: JSON.stringify(
                ends.filter(({ uuid }) => $rows.some((row) => row.has_webhook && row.uuid === uuid)),
              ),
              now: now(),
            },
          );`,
      },
    ],
    foundBy: ['ended-generation-is-announced', 'ends-with-an-address-have-an-event'],
  },
  {
    name: 'an endpoint is not due again for a retry, which waits for the next event',
    changes: [
      {
        file: 'shared/domain/webhooks/recordAndClaim.sql',
        find: 'least(first.ends_at, CASE WHEN first.due_at > p_now THEN first.due_at END)',
        replace: 'first.ends_at',
      },
    ],
    foundBy: ['pending-deliveries-are-due', 'ended-generation-is-announced'],
  },
  {
    name: 'every response of a receiver counts as a success',
    changes: [
      {
        file: 'shared/gateways/webhooks/postWebhook.ts',
        within: 'toResult',
        find: 'if ($status >= 200 && $status < 300)',
        replace: 'if ($status >= 200)',
      },
    ],
    foundBy: ['succeeded-delivery-was-accepted', 'ended-generation-is-announced'],
  },
];
