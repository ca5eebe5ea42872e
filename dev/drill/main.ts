import { writeFileSync } from 'node:fs';
import { readCommandLine } from '../../shared/lib/commandLine.ts';

const USAGE = `npm run drill -- [--json FILE]

Rehearses a restore with servers, payments and customers of its own: backs up a service in use, destroys its Postgres and
Redis, restores the backup, and prints recovery time and data loss. Exits with 1 if something did not come back.`;

const { json } = readCommandLine('npm run drill', USAGE, { json: { type: 'string' } });
const [{ buildDist }, { formatReport, isRecovered }, { runDrill }] = await Promise.all([
  import('../local/environment/build.ts'),
  import('./report.ts'),
  import('./runDrill.ts'),
]);
console.log('- building');
await buildDist();
const report = await runDrill((line) => console.log(`- ${line}`));
for (const line of formatReport(report)) console.log(line);
if (json !== undefined) writeFileSync(json, JSON.stringify(report, null, 2));
// Connections to servers that are gone would keep the process alive.
process.exit(isRecovered(report) ? 0 : 1);
