import { readCommandLine } from '../../shared/lib/commandLine.ts';
import { getAccountKey, seedDatabase } from '../bench/seed.ts';
import { buildDist } from '../local/environment/build.ts';
import { connectTo } from '../local/environment/databases.ts';
import { createEnvironment } from '../local/environment/environment.ts';
import { createScratchFolder } from '../local/environment/scratchFolder.ts';
import { startKeyProxy } from './keyProxy.ts';
import { runSuite } from './suite.ts';
import { formatVerdictLines, buildVerdicts } from './verdicts.ts';

/**
 * `npm run conformance [-- --built]`: runs the server scenarios of the official MCP suite against the built service,
 * for each version of the protocol. Fails for each failure that `exceptions.ts` does not list, and for each of its
 * entries that passes. `--built` uses the existing build.
 */
const USAGE = `npm run conformance -- [--built]

Runs the server scenarios of the official MCP conformance suite against the built service, for each version of the
protocol. Builds dist; --built uses the existing build. Exits with 0 if all results are as expected, and with 1 if a
scenario fails that dev/conformance/exceptions.ts does not list, or passes that it lists.`;

const VERSIONS = ['2025-11-25', '2026-07-28'];
const ACCOUNT = 1;

const { built: isBuilt } = readCommandLine('npm run conformance', USAGE, { built: { type: 'boolean' } });
console.log(`${isBuilt === true ? 'Starting' : 'Building and starting'} the service ...`);
if (isBuilt !== true) await buildDist();
const environment = await createEnvironment({
  folder: createScratchFolder('conformance-'),
  redisPrefix: 'conformance',
  env: { LOG_LEVEL: 'warn' },
});
const proxy = await startKeyProxy();
let unexpected = 0;
try {
  const { url: databaseUrl } = environment.postgres;
  await environment.migrate(databaseUrl);
  const client = await connectTo(databaseUrl);
  await seedDatabase(client, { accounts: 2, hotRows: 5, rowsPerAccount: 1 });
  await client.end();
  const baseUrl = `http://localhost:${proxy.port}`;
  const { port } = await environment.startApi({ databaseUrl, env: { BASE_URL: baseUrl } });
  proxy.open(port, getAccountKey(ACCOUNT));
  for (const version of VERSIONS) {
    const verdicts = buildVerdicts(await runSuite(`${baseUrl}/mcp`, version));
    const bad = verdicts.filter(({ failures, isOutdated }) => failures.length > 0 || isOutdated).length;
    const passed = verdicts.filter(
      ({ reason, failures, passed: count }) => reason === null && failures.length === 0 && count > 0,
    ).length;
    const checks = verdicts.reduce((sum, verdict) => sum + verdict.passed, 0);
    unexpected += bad;
    console.log(`\nMCP ${version}: ${passed} of ${verdicts.length} scenarios passed, ${checks} checks in all\n`);
    console.log(formatVerdictLines(verdicts).join('\n'));
  }
} finally {
  proxy.close();
  await environment.close();
}
console.log(unexpected === 0 ? '\nNothing unexpected.' : `\n${unexpected} unexpected results.`);
process.exit(unexpected === 0 ? 0 : 1);
