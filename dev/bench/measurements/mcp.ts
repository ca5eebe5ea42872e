import type { BenchChild } from '../childProcess.ts';
import type { LoopResult } from '../load/closedLoop.ts';
import type { Measurement } from '../report.ts';
import { buildMcpRequest, listSpreadAccounts } from '../httpRequests.ts';
import { getAccountKey, seedDatabase } from '../seed.ts';
import type { BenchEnvironment } from '../environment.ts';
import { buildMcpHeaders, buildToolCall, INITIALIZE } from '../../local/mcpMessages.ts';
import { alternateRounds, median, type Rounds, medianRatio } from '../../local/statistics.ts';
import { medianMicroseconds, readMemoryUsage, withProcessorTime } from '../processUsage.ts';

export const CLIENTS = 32;
const TOOL_CALL = buildToolCall('get_usage');

/**
 * Measures `tools/call get_usage` in sessions of 32 accounts, with credentials and database, against the official SDK's
 * own server with a tool that does nothing. Then measures the memory that ten thousand sessions take.
 */
export async function measureMcp(environment: BenchEnvironment): Promise<Measurement[]> {
  const { accounts, rounds, roundMs } = environment.options;
  const { url, client } = await environment.database('bench_mcp');
  await seedDatabase(client, { accounts, hotRows: 10, rowsPerAccount: 10 });
  const api = await environment.api(url);
  const http = await environment.child('./load/httpLoad.ts', url);
  const bare = await environment.child('./baselines/bareMcp.ts', url);
  const { built, kept } = await bare.call<{ built: number; kept: number }>('ports');
  const callers = listSpreadAccounts(accounts).slice(0, CLIENTS);
  for (const [name, port] of [
    ['api', api.port],
    ['kept', kept],
  ] as const)
    await http.call('prepare', { name, port, expect: 200, requests: await buildSessionCalls(port, callers) });
  const calls = callers.map((account) => buildMcpRequest(account, TOOL_CALL));
  await http.call('prepare', { name: 'built', port: built, expect: 200, requests: calls });

  const run = (name: string) => http.call<LoopResult>('run', name, CLIENTS, roundMs);
  for (const name of ['api', 'built', 'kept']) await run(name);
  const processes = { api: api.pid, postgres: environment.postgres.pid, client: http.pid };
  const timed = (of: Record<string, number | null>, name: string) =>
    withProcessorTime(
      of,
      () => run(name),
      ({ done }) => done,
    );
  const service = () => timed(processes, 'api');
  const againstBuilt = await alternateRounds(rounds, service, () => timed({ built: bare.pid }, 'built'));
  const againstKept = await alternateRounds(rounds, service, () => timed({ kept: bare.pid }, 'kept'));
  const measurements: Measurement[] = [
    { target: 'mcpBuilt', ...summarizeComparison(againstBuilt, 'built/s') },
    { target: 'mcpKept', ...summarizeComparison(againstKept, 'kept/s') },
    await measureSessionMemory(environment, http, api, callers),
  ];
  await Promise.all([api.end(), http.end(), bare.end()]);
  return measurements;
}

interface TimedResult {
  result: LoopResult;
  microseconds: Record<string, number>;
}

function summarizeComparison(
  { a, b }: Rounds<TimedResult, TimedResult>,
  name: string,
): { value: number; parts: Measurement['parts'] } {
  const perSecond = { a: a.map(({ result }) => result.perSecond), b: b.map(({ result }) => result.perSecond) };
  const parts = { 'service/s': median(perSecond.a), [name]: median(perSecond.b), clients: CLIENTS };
  return { value: medianRatio(perSecond), parts: { ...parts, ...medianMicroseconds(a), ...medianMicroseconds(b) } };
}

/** Opens a session for each account, and builds the calls in them. */
export async function buildSessionCalls(port: number, accounts: number[]): Promise<string[]> {
  return Promise.all(
    accounts.map(async (account) => {
      const headers = { 'content-type': 'application/json', ...buildMcpHeaders(getAccountKey(account)) };
      const body = JSON.stringify(INITIALIZE);
      const response = await fetch(`http://127.0.0.1:${port}/mcp`, { method: 'POST', headers, body });
      const sessionId = response.headers.get('mcp-session-id');
      if (sessionId === null) throw new Error(`No session was opened: ${response.status} ${await response.text()}`);
      return buildMcpRequest(account, TOOL_CALL, sessionId);
    }),
  );
}

/** Memory of the API after a tenth of the sessions, and after all. */
async function measureSessionMemory(
  environment: BenchEnvironment,
  http: BenchChild,
  api: { pid: number; port: number },
  accounts: number[],
): Promise<Measurement> {
  const { sessions } = environment.options.mcp;
  const requests = accounts.map((account) => buildMcpRequest(account, INITIALIZE));
  await http.call('prepare', { name: 'sessions', port: api.port, expect: 200, requests });
  let opened = 0;
  const openUpTo = async (count: number) => {
    while (opened < count) opened += (await http.call<LoopResult>('run', 'sessions', 4, 100)).done;
    return readMemoryUsage(api.pid)?.residentMb ?? null;
  };
  const before = await openUpTo(sessions / 10);
  const first = opened;
  const after = await openUpTo(sessions);
  const value = before === null || after === null ? null : after / before;
  return {
    target: 'mcpSessions',
    value,
    parts: { [`MB after ${first}`]: before ?? 'n/a', [`MB after ${opened}`]: after ?? 'n/a' },
  };
}
