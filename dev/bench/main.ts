import { mkdtempSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Bench } from './bench.ts';
import type { Figures, Row } from './figure.ts';
import { MEASUREMENTS, readBenchOptions } from './options.ts';

/**
 * `npm run bench [-- --quick] [--only create,read] [--against FOLDER] [--json FILE] [--profile FOLDER] [--built]`:
 * measures the built service against its baselines, and prints how the ratios compare with the targets.
 */
const options = readBenchOptions();
const { startBench } = await import('./bench.ts');
const { formatTable, measureFigure } = await import('./figure.ts');
const startedAt = new Date();
const getSeconds = () => Math.round((Date.now() - startedAt.getTime()) / 1_000);
const log = (line: string) => console.log(`${String(getSeconds()).padStart(4)} s  ${line}`);

log('building; starting Postgres and Redis');
const bench = await startBench(options, log);
const rows: Row[] = [];
try {
  const wanted = Object.entries(MEASUREMENTS).filter(([, names]) => names.some((name) => options.only.includes(name)));
  for (const file of options.against === undefined ? wanted.map(([name]) => name) : ['versions']) {
    log(`measuring ${file}`);
    const { measure } = (await import(`./measurements/${file}.ts`)) as { measure: (bench: Bench) => Figures };
    const figures = measure(bench);
    try {
      for (let next = await figures.next(); next.done !== true; ) {
        const measured = await measureFigure(next.value, options.rounds);
        rows.push(...measured);
        log(`${measured[0].name}: ${measured[0].value ?? 'n/a'}`);
        next = await figures.next(measured[0]);
      }
    } finally {
      // Deletes what it has created, if a round has failed.
      await figures.return();
    }
    await bench.endMeasurement();
  }
} finally {
  await bench.close();
}

const file = options.json ?? join(mkdtempSync(join(tmpdir(), 'bench-result-')), 'bench.json');
const machine = { processors: availableParallelism(), model: cpus()[0]?.model, node: process.version };
const { postgres, redis } = bench.environment;
const servers = { postgres: postgres.source, redis: redis.source };
const result = { startedAt, seconds: getSeconds(), machine, servers, options, rows };
writeFileSync(file, `${JSON.stringify(result, null, 2)}\n`);
console.log(`\n${formatTable(rows)}\n`);
console.log(
  `${options.quick ? 'Quick run: too short for reliable figures. ' : ''}Took ${result.seconds} s. JSON: ${file}`,
);
