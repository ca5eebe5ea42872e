import { mkdtempSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { exitWithUsageError } from '../../shared/lib/commandLine.ts';
import { type BenchOptions, parseBenchOptions, USAGE } from './options.ts';
import type { Measurement } from './report.ts';

/**
 * `npm run bench [-- --quick] [--only create,read] [--against FOLDER] [--json FILE] [--profile FOLDER] [--built]`: measures the built
 * service against its baselines, and prints how the ratios compare with the targets.
 */
const options = parseOptionsOrExit();
const [{ startBenchEnvironment }, { MEASUREMENT_RUNNERS }, { compareVersions }, { formatReportTable, toReportRows }] =
  await Promise.all([
    import('./environment.ts'),
    import('./measurements/index.ts'),
    import('./measurements/versions.ts'),
    import('./report.ts'),
  ]);
const startedAt = new Date();
const log = (line: string) =>
  console.log(`${((Date.now() - startedAt.getTime()) / 1_000).toFixed(0).padStart(4)} s  ${line}`);

log('building; starting Postgres and Redis');
const environment = await startBenchEnvironment(options, log);
const measurements: Measurement[] = [];
try {
  if (options.against !== undefined) {
    measurements.push(...(await compareVersions(environment, options.against, options.only)));
  }
  for (const [names, measure] of options.against === undefined ? MEASUREMENT_RUNNERS : []) {
    const wanted = names.filter((name) => options.only.includes(name));
    if (wanted.length === 0) continue;
    log(`measuring ${wanted.join(', ')}`);
    measurements.push(...(await measure(environment)));
  }
} finally {
  await environment.close();
}

const rows = toReportRows(measurements);
const file = options.json ?? join(mkdtempSync(join(tmpdir(), 'bench-result-')), 'bench.json');
const seconds = Math.round((Date.now() - startedAt.getTime()) / 1_000);
const machine = { processors: availableParallelism(), model: cpus()[0]?.model, node: process.version };
const servers = { postgres: environment.postgres.source, redis: environment.redis.source };
writeFileSync(file, `${JSON.stringify({ startedAt, seconds, machine, servers, options, rows }, null, 2)}\n`);
console.log(`\n${formatReportTable(rows)}\n`);
console.log(`${options.quick ? 'Quick run: too short for reliable figures. ' : ''}Took ${seconds} s. JSON: ${file}`);

function parseOptionsOrExit(): BenchOptions {
  try {
    const read = parseBenchOptions(process.argv.slice(2));
    if (read !== 'help') return read;
    console.log(USAGE);
    process.exit(0);
  } catch (error) {
    return exitWithUsageError('npm run bench', error as Error);
  }
}
