import { createHash } from 'node:crypto';
import type { Client } from 'pg';
import type { BenchChild } from '../childProcess.ts';
import type { LoopResult } from '../load/closedLoop.ts';
import type { Measurement } from '../report.ts';
import { seedDatabase } from '../seed.ts';
import type { BenchApi, BenchEnvironment } from '../environment.ts';
import { alternateRounds, median, medianRatio } from '../../local/statistics.ts';
import { medianMicroseconds, withProcessorTime } from '../processUsage.ts';

const CLIENTS = 32;
const CLIENT_ID = 'bench';
const REDIRECT_URI = 'http://127.0.0.1:9/callback';
const VERIFIER = 'v'.repeat(43);
const CHALLENGE = createHash('sha256').update(VERIFIER).digest('base64url');
/** More than either server could exchange per second. */
const MAX_PER_SECOND = 4_000;

type TokenKind = 'code' | 'refresh';

interface TokenCosts {
  issueUs: number;
  newUs: number;
  knownUs: number;
}

/**
 * Measures code exchanges and refreshes, each of another code or token, against oidc-provider with all of its state in
 * memory; and the cost of verifying an access token.
 */
export async function measureTokens(environment: BenchEnvironment): Promise<Measurement[]> {
  const { accounts, rounds, roundMs } = environment.options;
  const { url, client } = await environment.database('bench_tokens');
  await seedDatabase(client, { accounts, hotRows: 0, rowsPerAccount: 0 });
  const count = Math.ceil((MAX_PER_SECOND * roundMs * (rounds + 1)) / 1_000);
  await client.query(`INSERT INTO oauth_clients (client_id, name, redirect_uris, created_at)
                      VALUES ('${CLIENT_ID}', 'Bench', '{${REDIRECT_URI}}', now())`);
  const [api, http, provider, checks] = await Promise.all([
    environment.api(url),
    environment.child('./load/httpLoad.ts', url),
    environment.child('./baselines/oidcProvider.ts', url),
    environment.child('./load/accessTokens.ts', url),
  ]);
  const costs = await checks.call<TokenCosts>('measure');
  const measurements: Measurement[] = [];
  for (const kind of ['code', 'refresh'] as const) {
    const ours = await seedSecrets(client, kind, count, accounts);
    const theirs = await provider.call<string[]>('make', kind, count, CHALLENGE);
    await http.call('prepare', buildTokenRequests('ours', kind, api.port, ours));
    await http.call('prepare', buildTokenRequests('theirs', kind, await provider.call<number>('port'), theirs));
    measurements.push(await compareKind(environment, kind, { api, http, provider, signingUs: costs.issueUs }));
    await verifyStoredTokens(client, kind);
  }
  await Promise.all([api.end(), http.end(), provider.end(), checks.end()]);
  return [
    ...measurements,
    { target: 'newToken', value: costs.newUs, parts: {} },
    { target: 'knownToken', value: costs.knownUs, parts: {} },
  ];
}

let exchanged = 0;

async function compareKind(
  environment: BenchEnvironment,
  kind: TokenKind,
  { api, http, provider, signingUs }: { api: BenchApi; http: BenchChild; provider: BenchChild; signingUs: number },
): Promise<Measurement> {
  const run = async (name: 'ours' | 'theirs') => {
    const result = await http.call<LoopResult>('run', `${name}-${kind}`, CLIENTS, environment.options.roundMs);
    if (name === 'ours') exchanged += result.done;
    return result;
  };
  exchanged = 0;
  await run('ours');
  await run('theirs');
  const processes = { api: api.pid, postgres: environment.postgres.pid, client: http.pid };
  const { a, b } = await alternateRounds(
    environment.options.rounds,
    () =>
      withProcessorTime(
        processes,
        () => run('ours'),
        ({ done }) => done,
      ),
    () =>
      withProcessorTime(
        { provider: provider.pid },
        () => run('theirs'),
        ({ done }) => done,
      ),
  );
  const perSecond = { a: a.map(({ result }) => result.perSecond), b: b.map(({ result }) => result.perSecond) };
  return {
    target: kind,
    value: medianRatio(perSecond),
    parts: {
      'service/s': median(perSecond.a),
      'oidc-provider/s': median(perSecond.b),
      clients: CLIENTS,
      ...medianMicroseconds(a),
      ...medianMicroseconds(b),
      // The part of each exchange that both have: an RSA signature.
      'signing µs': signingUs,
    },
  };
}

/** Inserts codes or refresh tokens as consent would have left them, each from a grant of its own. */
async function seedSecrets(client: Client, kind: TokenKind, count: number, accounts: number): Promise<string[]> {
  const texts = Array.from({ length: count }, (_, index) =>
    createHash('sha256').update(`${kind} ${index}`).digest('hex'),
  );
  await client.query(
    `CREATE TEMPORARY TABLE bench_secrets AS
     SELECT gen_random_uuid() AS uuid, sha256(convert_to(text, 'UTF8')) AS hash, (n % ${accounts}) + 1 AS account_id
       FROM unnest($1::text[]) WITH ORDINALITY AS secret (text, n)`,
    [texts],
  );
  await client.query(`
    INSERT INTO oauth_grants (uuid, account_id, member_number, client_id, scopes, resource, redirect_uri, created_at,
                              connected_at)
    SELECT uuid, account_id, 1, '${CLIENT_ID}', '{svc:read,svc:write}', 'bench', '${REDIRECT_URI}', now(),
           ${kind === 'code' ? 'NULL' : 'now()'} FROM bench_secrets`);
  await client.query(
    kind === 'code'
      ? `INSERT INTO oauth_codes (code_hash, grant_uuid, redirect_uri, code_challenge, expires_at)
         SELECT hash, uuid, '${REDIRECT_URI}', '${CHALLENGE}', now() + interval '1 day' FROM bench_secrets`
      : `INSERT INTO oauth_refresh_tokens (token_hash, grant_uuid, expires_at)
         SELECT hash, uuid, now() + interval '1 day' FROM bench_secrets`,
  );
  await client.query('DROP TABLE bench_secrets');
  await client.query('VACUUM ANALYZE oauth_grants, oauth_codes, oauth_refresh_tokens');
  return texts;
}

function buildTokenRequests(whose: 'ours' | 'theirs', kind: TokenKind, port: number, secrets: string[]) {
  return {
    name: `${whose}-${kind}`,
    port,
    expect: 200,
    requests: secrets.map((secret) => buildFormRequest(kind, secret)),
  };
}

function buildFormRequest(kind: TokenKind, secret: string): string {
  const fields: Record<string, string> =
    kind === 'code'
      ? { grant_type: 'authorization_code', code: secret, code_verifier: VERIFIER, redirect_uri: REDIRECT_URI }
      : { grant_type: 'refresh_token', refresh_token: secret };
  const body = new URLSearchParams({ ...fields, client_id: CLIENT_ID }).toString();
  const head = [
    'POST /token HTTP/1.1',
    'Host: 127.0.0.1',
    'Content-Type: application/x-www-form-urlencoded',
    `Content-Length: ${body.length}`,
  ];
  return `${head.join('\r\n')}\r\n\r\n${body}`;
}

/** Checks that each response stored its refresh token and used up its code or token. */
async function verifyStoredTokens(client: Client, kind: TokenKind): Promise<void> {
  const table = kind === 'code' ? 'oauth_codes' : 'oauth_refresh_tokens';
  const { rows } = await client.query<{ used: number; renewed: number }>(
    `SELECT (SELECT count(*)::int FROM ${table} WHERE used_at IS NOT NULL) AS used,
            (SELECT count(*)::int FROM oauth_refresh_tokens WHERE expires_at > now() + interval '2 days') AS renewed`,
  );
  const expected = kind === 'code' ? exchanged : renewedBefore + exchanged;
  if (rows[0]!.used !== exchanged || rows[0]!.renewed !== expected)
    throw new Error(`${kind}: ${JSON.stringify(rows[0])} are stored after ${exchanged} exchanges.`);
  renewedBefore = rows[0]!.renewed;
}

let renewedBefore = 0;
