import type { Bench } from '../bench.ts';
import type { Figures } from '../figure.ts';
import {
  buildCreate,
  buildKeyGet,
  buildKeyHeader,
  buildReads,
  listSpreadAccounts,
  REQUEST_NUMBER,
} from '../httpRequests.ts';
import type { ServiceCalls } from '../load/serviceCalls.ts';
import type { FigureName } from '../options.ts';
import { HOT_ACCOUNT } from '../seed.ts';
import { type Side, startSides } from '../sides.ts';
import { buildSessionHeader, seedLimits, seedSessions } from '../specialSeeds.ts';
import { buildSessionCalls } from './mcp.ts';
import { comparePipelines } from './pipeline.ts';

/** Address of both APIs: the origin of requests by a session, and the issuer of access tokens. */
const BASE_URL = 'http://bench.test';

/** Requests of one kind, by whose throughput two versions are compared. */
interface ComparedRequest {
  name: string;
  /** Default: 32. */
  clients?: number;
  /** Generations of each account before the load. */
  rows: number;
  /** Prepares the database of a side, and builds its requests. */
  build: (side: Side, accounts: number[], bench: Bench) => string[] | Promise<string[]>;
}

/** Creates by every kind of credential and by one account alone. */
const CREATES: readonly ComparedRequest[] = [
  { name: 'create', rows: 0, build: (_, accounts) => buildCreates(accounts, buildKeyHeader) },
  { name: 'create', clients: 128, rows: 0, build: (_, accounts) => buildCreates(accounts, buildKeyHeader) },
  { name: 'create, one account', rows: 0, build: () => [buildCreate(HOT_ACCOUNT)] },
  {
    name: 'create, key with a limit',
    rows: 0,
    build: async ({ client }, accounts) => {
      await seedLimits(client);
      return buildCreates(accounts, buildKeyHeader);
    },
  },
  {
    name: 'create, Idempotency-Key',
    rows: 0,
    build: (_, accounts) =>
      buildCreates(accounts, (account) => `${buildKeyHeader(account)}\r\nIdempotency-Key: ${REQUEST_NUMBER}`),
  },
  {
    name: 'create, session',
    rows: 0,
    build: async ({ client }, accounts) => {
      await seedSessions(client);
      return buildCreates(accounts, (account) => `${buildSessionHeader(account)}\r\nOrigin: ${BASE_URL}`);
    },
  },
  { name: 'create, application', rows: 0, build: buildApplicationCreates },
];

const COMPARED: Partial<Record<FigureName, readonly ComparedRequest[]>> = {
  create: CREATES,
  read: [
    { name: 'read', rows: 10, build: ({ client }) => buildReads(client, '/api/generations') },
    {
      name: 'list',
      rows: 30,
      build: (_, accounts) => accounts.map((account) => buildKeyGet(account, '/api/generations/')),
    },
  ],
  mcp: [{ name: 'mcp', rows: 10, build: ({ api }, accounts) => buildSessionCalls(api.port, accounts.slice(0, 32)) }],
};

/**
 * Compares this version with another one: an API and a worker of each, with a database that it has migrated itself,
 * take the same load in turn.
 */
export async function* measure(bench: Bench): Figures {
  const { only, against, accounts } = bench.options;
  const checkout = against as string;
  const compared = only.flatMap((figure) => COMPARED[figure] ?? []);
  for (const [index, { name, clients = 32, rows, build }] of compared.entries()) {
    const options = { hotRows: rows, rowsPerAccount: rows, env: { BASE_URL } };
    const sides = await startSides(bench, `version_${index}`, options, { ...options, checkout });
    yield sides.compare({
      name: `${name}, ${clients} clients, new : old`,
      clients,
      expect: CREATES.some((create) => create.name === name) ? 201 : 200,
      requests: async (side) => build(side, listSpreadAccounts(accounts), bench),
      isDetailed: true,
    });
    await sides.verify();
    await bench.endMeasurement();
  }
  if (only.includes('pipeline')) yield* comparePipelines(bench, checkout);
}

/** Builds a create by each account. @param buildHeaders returns those of its credential. */
function buildCreates(accounts: number[], buildHeaders: (account: number) => string): string[] {
  return accounts.map((account) => buildCreate(account, undefined, [buildHeaders(account)]));
}

/**
 * Connects an application to each account, and has this version's code issue the tokens: both versions read the same
 * ones.
 */
async function buildApplicationCreates({ client, url }: Side, accounts: number[], bench: Bench): Promise<string[]> {
  await client.query(
    `INSERT INTO oauth_clients (client_id, name, redirect_uris, created_at) VALUES ('bench', 'bench', '{}', now())`,
  );
  const { rows: grants } = await client.query<{ account: string; accountUuid: string; grantUuid: string }>(
    `WITH granted AS (
       INSERT INTO oauth_grants (uuid, account_id, member_number, client_id, scopes, resource, redirect_uri, created_at,
                                 connected_at)
       SELECT gen_random_uuid(), id, 1, 'bench', '{svc:read,svc:write}', '${BASE_URL}/api/', '', now(), now() FROM accounts
       RETURNING uuid, account_id
     )
     SELECT a.id AS account, a.uuid AS "accountUuid", g.uuid AS "grantUuid"
       FROM granted g JOIN accounts a ON a.id = g.account_id`,
  );
  const service = await bench.child<ServiceCalls>('load/serviceCalls.ts', url, { BASE_URL });
  const issued = await service.issueTokens(grants);
  await service.end();
  const tokens = new Map(grants.map(({ account }, index) => [Number(account), issued[index]]));
  return buildCreates(accounts, (account) => `Authorization: Bearer ${tokens.get(account)}`);
}
