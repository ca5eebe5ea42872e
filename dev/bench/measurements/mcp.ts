import { buildMcpHeaders, buildToolCall, INITIALIZE } from '../../local/mcpMessages.ts';
import type { BareMcp } from '../baselines/bareMcp.ts';
import type { Bench } from '../bench.ts';
import type { Figures, Round } from '../figure.ts';
import { buildMcpRequest, listSpreadAccounts } from '../httpRequests.ts';
import { readMemory } from '../processUsage.ts';
import { getAccountKey } from '../seed.ts';

const CLIENTS = 32;
const TOOL_CALL = buildToolCall('get_usage');

/**
 * Measures `tools/call get_usage` in sessions of 32 accounts, with credentials and database, against the official SDK's
 * own server with a tool that does nothing. Then measures the memory that ten thousand sessions take.
 */
export async function* measure(bench: Bench): Figures {
  const { accounts, roundMs, mcp } = bench.options;
  const { url } = await bench.seed('mcp', { hotRows: 10, rowsPerAccount: 10 });
  const api = await bench.api(url);
  const sdk = await bench.child<BareMcp>('baselines/bareMcp.ts', url);
  const http = await bench.http();
  const { built, kept } = await sdk.ports();
  const callers = listSpreadAccounts(accounts).slice(0, CLIENTS);
  const build = (message: object) => callers.map((account) => buildMcpRequest(account, message));
  await http.prepare({ name: 'api', port: api.port, requests: await buildSessionCalls(api.port, callers) });
  await http.prepare({ name: 'kept', port: kept, requests: await buildSessionCalls(kept, callers) });
  await http.prepare({ name: 'built', port: built, requests: build(TOOL_CALL) });
  await http.prepare({ name: 'sessions', port: api.port, requests: build(INITIALIZE) });

  const ours = () => bench.timed({ api, client: http }, () => http.run('api', CLIENTS, roundMs));
  const bare = (name: string) => () => bench.timed({ sdk, client: http }, () => http.run(name, CLIENTS, roundMs));
  const name = 'MCP get_usage : an SDK server with an empty tool';
  yield { name: `${name}, built for each request`, ours, bare: bare('built'), target: [1.6, 1.9] };
  yield { name: `${name}, kept for each session`, ours, bare: bare('kept'), target: [1, 1.15] };

  let opened = 0;
  const openUpTo = async (sessions: number): Promise<Round> => {
    while (opened < sessions) opened += (await http.run('sessions', 4, 100)).done;
    return { ...readMemory(api.pid), sessions: opened };
  };
  const few = await openUpTo(mcp.sessions / 10);
  yield {
    name: `RSS of the API after ${mcp.sessions} MCP sessions : after a tenth of them`,
    ours: () => openUpTo(mcp.sessions),
    bare: async () => few,
    by: 'resident MB',
    target: [1.15, 1.05],
    rounds: 1,
    isWarm: true,
  };
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
