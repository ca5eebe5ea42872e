import { issueAccessToken, verifyAccessToken } from '../../../shared/domain/oauth/accessTokens.ts';
import { parseConfig } from '../../../shared/lib/config.ts';
import { openService } from '../../../shared/service.ts';
import { serveParent } from '../childProcess.ts';

/** The service's own verification of access tokens, in a process that does nothing else. */
await openService(parseConfig(process.env));

/** Fewer than the cache of verified tokens holds. */
const TOKENS = 4_000;
const REPETITIONS = 25;
const SCOPES = new Set(['svc:read', 'svc:write'] as const);

interface Costs {
  issueUs: number;
  newUs: number;
  knownUs: number;
}

/** Measures the processor time to issue a token, and to verify it for the first time and again. */
async function measure(): Promise<Costs> {
  const about = {
    accountUuid: crypto.randomUUID(),
    grantUuid: crypto.randomUUID(),
    clientId: 'bench',
    resource: 'mcp' as const,
    scopes: SCOPES,
  };
  const tokens: string[] = [];
  const issueUs = await measureCpuCost(async () => {
    for (let made = 0; made < TOKENS; made += 1) tokens.push(await issueAccessToken(about));
  }, TOKENS);
  const newUs = await measureCpuCost(async () => {
    for (const token of tokens) await verifyAccessToken(token);
  }, TOKENS);
  const knownUs = await measureCpuCost(async () => {
    for (let time = 0; time < REPETITIONS; time += 1) for (const token of tokens) await verifyAccessToken(token);
  }, TOKENS * REPETITIONS);
  return { issueUs, newUs, knownUs };
}

async function measureCpuCost(work: () => Promise<void>, times: number): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / times;
}

/** Issues a token for the REST interface from each grant. */
const issue = async (grants: { accountUuid: string; grantUuid: string }[]): Promise<string[]> =>
  Promise.all(
    grants.map(async (grant) => issueAccessToken({ ...grant, clientId: 'bench', resource: 'api', scopes: SCOPES })),
  );

serveParent({ measure, issue });
