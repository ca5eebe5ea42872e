import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { buildServiceArgs, ROOT } from '../../local/environment/build.ts';
import { startProgram } from '../../local/environment/program.ts';
import { findFreePort } from '../../local/servers/ports.ts';
import { alternateRounds, median, medianRatio } from '../../local/statistics.ts';
import { buildModules } from '../baselines/moduleBuild.ts';
import type { BenchEnvironment } from '../environment.ts';
import { readMemoryUsage, readProcessorMs } from '../processUsage.ts';
import type { Measurement } from '../report.ts';

/** Message that a program logs when it is ready, and its figures. */
const PROGRAMS = {
  api: { ready: 'api listening', start: 'startApi', idle: 'idleApi' },
  worker: { ready: 'worker ready', start: 'startWorker', idle: 'idleWorker' },
} as const;
type ProgramName = keyof typeof PROGRAMS;

/** Time after which an idle process is measured. */
const SETTLE_MS = 800;

interface Start {
  cpuMs: number;
  readyMs: number;
  residentMb: number;
}

/**
 * Measures the processor time until an API and a worker are ready, against the same code in modules, and their memory
 * while they are idle.
 */
export async function measureStart(environment: BenchEnvironment): Promise<Measurement[]> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-modules-'));
  try {
    buildModules(folder);
    const { url } = await environment.database('bench_start');
    const measurements: Measurement[] = [];
    for (const name of ['api', 'worker'] as const)
      measurements.push(...(await compareStarts(environment, name, url, folder)));
    return measurements;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function compareStarts(
  environment: BenchEnvironment,
  name: ProgramName,
  databaseUrl: string,
  modules: string,
): Promise<Measurement[]> {
  const port = String(await findFreePort());
  const env = environment.buildEnv(databaseUrl, { LOG_LEVEL: 'info', PORT: port, HOST: '127.0.0.1', FAL_KEY: 'bench' });
  // The first start of each reads its files from the disk.
  for (const folder of [ROOT, modules]) await startOnce(name, folder, env);
  const { a, b } = await alternateRounds(
    environment.options.rounds,
    () => startOnce(name, ROOT, env),
    () => startOnce(name, modules, env),
  );
  const cpuMs = { a: a.map((start) => start.cpuMs), b: b.map((start) => start.cpuMs) };
  const parts = {
    'CPU ms': median(cpuMs.a),
    'modules, CPU ms': median(cpuMs.b),
    'ready ms': median(a.map(({ readyMs }) => readyMs)),
    'modules, ready ms': median(b.map(({ readyMs }) => readyMs)),
  };
  const residentMb = median(a.map((start) => start.residentMb));
  return [
    { target: PROGRAMS[name].start, value: medianRatio(cpuMs), parts },
    {
      target: PROGRAMS[name].idle,
      value: residentMb,
      parts: { 'modules MB': median(b.map((start) => start.residentMb)) },
    },
  ];
}

async function startOnce(name: ProgramName, folder: string, env: Record<string, string>): Promise<Start> {
  const startedAt = performance.now();
  const program = startProgram({ name, args: buildServiceArgs(folder, name), env, cwd: ROOT });
  await program.waitUntilReady(PROGRAMS[name].ready);
  const readyMs = performance.now() - startedAt;
  const cpuMs = readProcessorMs(program.pid) ?? Number.NaN;
  await delay(SETTLE_MS);
  const residentMb = readMemoryUsage(program.pid)?.residentMb ?? Number.NaN;
  await program.stop();
  return { cpuMs, readyMs, residentMb };
}
