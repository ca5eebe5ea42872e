import { mkdtempSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { endCalledWrongly } from '../../shared/lib/commandLine.ts';
import { measureCreates } from './figures/create.ts';
import { measureGrants } from './figures/grants.ts';
import { measureGrowth } from './figures/growth.ts';
import { measureMcp } from './figures/mcp.ts';
import { measurePipeline } from './figures/pipeline.ts';
import { measureReads } from './figures/read.ts';
import { measureTokens } from './figures/tokens.ts';
import { measureWebhooks } from './figures/webhooks.ts';
import { type FigureName, type Options, parseOptions, USAGE } from './options.ts';
import { type Measurement, rowsOf, tableOf } from './report.ts';
import { setStage, type Stage } from './stage.ts';

/**
 * `npm run bench [-- --quick] [--only create,read] [--json FILE] [--profile FOLDER] [--built]`: measures the built service
 * against what it stands on, and prints how the ratios compare with the targets.
 */
const options = optionsOrEnd();
const startedAt = new Date();
const say = (line: string) =>
  console.log(`${((Date.now() - startedAt.getTime()) / 1_000).toFixed(0).padStart(4)} s  ${line}`);

const MEASURES: [FigureName[], (stage: Stage) => Promise<Measurement[]>][] = [
  [['create', 'latency', 'hot'], measureCreates],
  [['read'], measureReads],
  [['pipeline'], measurePipeline],
  [['growth'], measureGrowth],
  [['grants'], measureGrants],
  [['webhooks'], measureWebhooks],
  [['tokens'], measureTokens],
  [['mcp'], measureMcp],
];

say('building, and starting Postgres and Redis');
const stage = await setStage(options, say);
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => void stage.close().then(() => process.exit(1)));
}
const measurements: Measurement[] = [];
try {
  for (const [names, measure] of MEASURES) {
    const wanted = names.filter((name) => options.only.includes(name));
    if (wanted.length === 0) continue;
    say(`measuring ${wanted.join(', ')}`);
    measurements.push(...(await measure(stage)));
  }
} finally {
  await stage.close();
}

const rows = rowsOf(measurements);
const file = options.json ?? join(mkdtempSync(join(tmpdir(), 'bench-result-')), 'bench.json');
const seconds = Math.round((Date.now() - startedAt.getTime()) / 1_000);
const machine = { processors: availableParallelism(), model: cpus()[0]?.model, node: process.version };
const servers = { postgres: stage.postgres.how, redis: stage.redis.how };
writeFileSync(file, `${JSON.stringify({ startedAt, seconds, machine, servers, options, rows }, null, 2)}\n`);
console.log(`\n${tableOf(rows)}\n`);
console.log(`${options.quick ? 'Quick: too short for figures to trust. ' : ''}Took ${seconds} s. JSON: ${file}`);

function optionsOrEnd(): Options {
  try {
    const read = parseOptions(process.argv.slice(2));
    if (read !== 'help') return read;
    console.log(USAGE);
    process.exit(0);
  } catch (error) {
    return endCalledWrongly('npm run bench', error as Error);
  }
}
