import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';

/** The creator of a generation, and the generations beside it. */
export interface GenerationContext {
  /** Name of the API key, and of the application, that created it; null for neither. */
  key_name: string | null;
  application_name: string | null;
  /** Generations beside it in the list; null at its ends. */
  newer_uuid: string | null;
  older_uuid: string | null;
}

const READ_CONTEXT = prepared(
  'read_generation_context',
  `SELECT k.name AS key_name, c.name AS application_name,
          (SELECT n.uuid FROM generations n
            WHERE n.account_id = g.account_id AND n.number > g.number AND n.deleted_at IS NULL
            ORDER BY n.number LIMIT 1) AS newer_uuid,
          (SELECT n.uuid FROM generations n
            WHERE n.account_id = g.account_id AND n.number < g.number AND n.deleted_at IS NULL
            ORDER BY n.number DESC LIMIT 1) AS older_uuid
     FROM generations g
     LEFT JOIN api_keys k ON k.account_id = :ownerId AND k.number = g.api_key_number
     LEFT JOIN oauth_clients c ON c.client_id = g.oauth_client_id
    WHERE g.account_id = :accountId AND g.uuid = :uuid`,
);

/**
 * Reads the creator of a generation, and the generations beside it.
 * @param ownerId account whose keys created it; differs from its account for one of a test key.
 */
export async function readGenerationContext(
  ownerId: number,
  accountId: number,
  uuid: string,
): Promise<GenerationContext | undefined> {
  return (await runStatement<GenerationContext>(READ_CONTEXT, { ownerId, accountId, uuid }))[0];
}

/** A generation that a ledger entry names. */
export interface NamedGeneration {
  uuid: string;
  model: string;
  is_deleted: boolean;
}

const LIST_NAMED = prepared(
  'list_named_generations',
  `SELECT uuid, model, deleted_at IS NOT NULL AS is_deleted FROM generations
    WHERE account_id = :accountId AND uuid = ANY (cast(:uuids AS uuid[]))`,
);

/** Returns the models of generations, deleted ones included, by their uuids. */
export async function findNamedGenerations(
  accountId: number,
  uuids: readonly string[],
): Promise<Map<string, NamedGeneration>> {
  const rows = uuids.length === 0 ? [] : await runStatement<NamedGeneration>(LIST_NAMED, { accountId, uuids });
  return new Map(rows.map((row) => [row.uuid, row]));
}
