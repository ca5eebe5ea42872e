import type { Client } from 'pg';
import type { BenchApi, BenchEnvironment } from './environment.ts';
import {
  buildCreateRequest,
  buildGetRequest,
  buildKeyHeader,
  listSpreadAccounts,
  REQUEST_NUMBER,
} from './httpRequests.ts';
import { seedLimits } from './measurements/limits.ts';
import { buildSessionCalls, CLIENTS as MCP_CLIENTS } from './measurements/mcp.ts';
import { getSessionToken, HOT_ACCOUNT, seedSessions } from './seed.ts';

/** Address of both APIs: the origin of requests by a session, and the issuer of access tokens. */
export const BASE_URL = 'http://bench.test';

/** A running version, with its database. */
interface PreparedVersion {
  environment: BenchEnvironment;
  url: string;
  client: Client;
  api: BenchApi;
}

/** Requests of one kind, by whose throughput two versions are compared. */
export interface ComparedRequest {
  name: string;
  clients: number;
  expect: 200 | 201;
  /** Generations of each account before the load. */
  rowsPerAccount: number;
  build: (version: PreparedVersion) => Promise<string[]>;
}

const CREATE = { clients: 32, expect: 201, rowsPerAccount: 0 } as const;

/** Creates by every kind of credential, and by one account alone. */
const COMPARED_CREATES: readonly ComparedRequest[] = [
  { ...CREATE, name: 'create', build: async (version) => buildCreates(version) },
  { ...CREATE, name: 'create, 128 clients', clients: 128, build: async (version) => buildCreates(version) },
  { ...CREATE, name: 'create, one account', build: async () => [buildCreateRequest(HOT_ACCOUNT)] },
  { ...CREATE, name: 'create, key with a limit', build: buildLimitedCreates },
  {
    ...CREATE,
    name: 'create, Idempotency-Key',
    build: async (version) =>
      buildCreates(version, (account) => [buildKeyHeader(account), `Idempotency-Key: ${REQUEST_NUMBER}`]),
  },
  { ...CREATE, name: 'create, session', build: buildSessionCreates },
  { ...CREATE, name: 'create, application', build: buildApplicationCreates },
];

const COMPARED_READ: ComparedRequest = {
  name: 'read',
  clients: 32,
  expect: 200,
  rowsPerAccount: 10,
  build: async ({ client }) => {
    const { rows } = await client.query<{ uuid: string; account: string }>(
      `SELECT uuid, account_id AS account FROM generations ORDER BY md5(uuid::text) LIMIT 4000`,
    );
    return rows.map(({ uuid, account }) => buildGetRequest(Number(account), `/api/generations/${uuid}`));
  },
};

const COMPARED_LIST: ComparedRequest = {
  name: 'list',
  clients: 32,
  expect: 200,
  rowsPerAccount: 30,
  build: async ({ environment }) =>
    listSpreadAccounts(environment.options.accounts).map((account) => buildGetRequest(account, '/api/generations/')),
};

const COMPARED_MCP_CALL: ComparedRequest = {
  name: 'mcp',
  clients: MCP_CLIENTS,
  expect: 200,
  rowsPerAccount: 10,
  build: async ({ environment, api }) =>
    buildSessionCalls(api.port, listSpreadAccounts(environment.options.accounts).slice(0, MCP_CLIENTS)),
};

export const COMPARED: Record<'create' | 'read' | 'mcp', readonly ComparedRequest[]> = {
  create: COMPARED_CREATES,
  read: [COMPARED_READ, COMPARED_LIST],
  mcp: [COMPARED_MCP_CALL],
};

/** @param buildHeaders replaces the header with the account's key. */
function buildCreates({ environment }: PreparedVersion, buildHeaders?: (account: number) => string[]): string[] {
  const accounts = listSpreadAccounts(environment.options.accounts);
  return accounts.map((account) => buildCreateRequest(account, undefined, buildHeaders?.(account)));
}

async function buildLimitedCreates(version: PreparedVersion): Promise<string[]> {
  await seedLimits(version.client);
  return buildCreates(version);
}

async function buildSessionCreates(version: PreparedVersion): Promise<string[]> {
  await seedSessions(version.client);
  return buildCreates(version, (account) => [`Cookie: token=${getSessionToken(account)}`, `Origin: ${BASE_URL}`]);
}

/** Connects an application to each account, and has this version's code issue the tokens: both versions read the same ones. */
async function buildApplicationCreates(version: PreparedVersion): Promise<string[]> {
  const { environment, client, url } = version;
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
  const issuer = await environment.child('./load/accessTokens.ts', url, { BASE_URL });
  const issued = await issuer.call<string[]>('issue', grants);
  await issuer.end();
  const tokens = new Map(grants.map(({ account }, index) => [Number(account), issued[index]]));
  return buildCreates(version, (account) => [`Authorization: Bearer ${tokens.get(account)}`]);
}
