import { createHash } from 'node:crypto';
import type { Client } from 'pg';
import type { OidcProvider } from '../baselines/oidcProvider.ts';
import type { Bench } from '../bench.ts';
import type { Figures } from '../figure.ts';
import { buildPost } from '../httpRequests.ts';
import type { ServiceCalls } from '../load/serviceCalls.ts';
import { countRows, verifyCount } from '../verify.ts';

const CLIENTS = 32;
const CLIENT_ID = 'bench';
const REDIRECT_URI = 'http://127.0.0.1:9/callback';
const VERIFIER = 'v'.repeat(43);
const CHALLENGE = createHash('sha256').update(VERIFIER).digest('base64url');
/** More than either server could exchange per second. */
const MAX_PER_SECOND = 4_000;

type TokenKind = 'code' | 'refresh';

/**
 * Measures code exchanges and refreshes, each of another code or token, against oidc-provider with all of its state in
 * memory; and the cost of verifying an access token. An RSA signature is a part of each exchange, on both sides.
 */
export async function* measure(bench: Bench): Figures {
  const { accounts, rounds, roundMs } = bench.options;
  const { url, client } = await bench.seed('tokens');
  await client.query(`INSERT INTO oauth_clients (client_id, name, redirect_uris, created_at)
                      VALUES ('${CLIENT_ID}', 'Bench', '{${REDIRECT_URI}}', now())`);
  const api = await bench.api(url);
  const provider = await bench.child<OidcProvider>('baselines/oidcProvider.ts', url);
  const service = await bench.child<ServiceCalls>('load/serviceCalls.ts', url);
  const http = await bench.http();
  const count = Math.ceil((MAX_PER_SECOND * roundMs * (rounds + 1)) / 1_000);
  let renewed = 0;
  for (const kind of ['code', 'refresh'] as const) {
    const ours = (await seedSecrets(client, kind, count, accounts)).map((secret) => buildExchange(kind, secret));
    const theirs = (await provider.make(kind, count, CHALLENGE)).map((secret) => buildExchange(kind, secret));
    await http.prepare({ name: kind, port: api.port, requests: ours });
    await http.prepare({ name: `bare ${kind}`, port: await provider.port(), requests: theirs });
    let exchanged = 0;
    yield {
      name: `OAuth ${kind === 'code' ? 'code exchange' : 'refresh'}, ${CLIENTS} clients : oidc-provider in memory`,
      ours: () =>
        bench.timed({ api, client: http }, async () => {
          const result = await http.run(kind, CLIENTS, roundMs);
          exchanged += result.done;
          return result;
        }),
      bare: () => bench.timed({ provider, client: http }, () => http.run(`bare ${kind}`, CLIENTS, roundMs)),
      target: [1, 1.1],
    };
    // Each response has used up its code or token, and stored a refresh token.
    renewed += exchanged;
    const table = kind === 'code' ? 'oauth_codes' : 'oauth_refresh_tokens';
    verifyCount(`used rows of ${table}`, await countRows(client, `${table} WHERE used_at IS NOT NULL`), exchanged);
    const stored = await countRows(client, `oauth_refresh_tokens WHERE expires_at > now() + interval '2 days'`);
    verifyCount('refresh tokens that were issued', stored, renewed);
  }
  const costs = await service.measureTokens();
  const read = async () => costs;
  yield { name: 'issuing an access token, CPU', ours: read, by: 'issue µs' };
  yield { name: 'verifying a new access token, CPU', ours: read, by: 'new µs', target: [80, 80] };
  yield { name: 'verifying a known access token, CPU', ours: read, by: 'known µs', target: [20, 20] };
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

function buildExchange(kind: TokenKind, secret: string): string {
  const fields: Record<string, string> =
    kind === 'code'
      ? { grant_type: 'authorization_code', code: secret, code_verifier: VERIFIER, redirect_uri: REDIRECT_URI }
      : { grant_type: 'refresh_token', refresh_token: secret };
  const body = new URLSearchParams({ ...fields, client_id: CLIENT_ID }).toString();
  return buildPost('/token', [], body, 'application/x-www-form-urlencoded');
}
