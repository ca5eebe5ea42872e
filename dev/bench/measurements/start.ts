import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { buildServiceArgs, ROOT } from '../../local/environment/build.ts';
import { startProgram } from '../../local/environment/program.ts';
import { findFreePort } from '../../local/servers/ports.ts';
import { buildModules } from '../baselines/moduleBuild.ts';
import type { Bench } from '../bench.ts';
import type { Figures, Round } from '../figure.ts';
import { readMemory, readProcessorMs } from '../processUsage.ts';

/** Programs, the message that each logs when it is ready, and the required memory and its goal in MB. */
const PROGRAMS = [
  ['api', 'api listening', [126, 120]],
  ['worker', 'worker ready', [104, 100]],
] as const;

/** Time after which an idle process is measured. */
const SETTLE_MS = 800;

/**
 * Measures the processor time until an API and a worker are ready, against the same code in modules, and their memory
 * while they are idle.
 */
export async function* measure(bench: Bench): Figures {
  const modules = mkdtempSync(join(tmpdir(), 'bench-modules-'));
  try {
    buildModules(modules);
    const { url: databaseUrl } = await bench.database('start');
    for (const [name, ready, target] of PROGRAMS) {
      const variables = { LOG_LEVEL: 'info', PORT: String(await findFreePort()), HOST: '127.0.0.1', FAL_KEY: 'bench' };
      const env = bench.environment.buildEnv({ databaseUrl, env: variables });
      const start = (folder: string) => () => startOnce(buildServiceArgs(folder, name), ready, env);
      const { ours } = yield {
        name: `processor time until the ${name} is ready : the same code in modules`,
        ours: start(ROOT),
        bare: start(modules),
        by: 'CPU ms',
        target: [0.5, 0.4],
      };
      yield { name: `RSS of the idle ${name}`, ours: async () => ours, by: 'resident MB', target };
    }
  } finally {
    rmSync(modules, { recursive: true, force: true });
  }
}

async function startOnce(args: string[], ready: string, env: Record<string, string>): Promise<Round> {
  const startedAt = performance.now();
  const program = startProgram({ name: ready, args, env, cwd: ROOT });
  await program.waitUntilReady(ready);
  const readyMs = performance.now() - startedAt;
  const processorMs = readProcessorMs(program.pid);
  await delay(SETTLE_MS);
  const memory = readMemory(program.pid);
  await program.stop();
  return { 'CPU ms': processorMs, 'ready ms': readyMs, ...memory };
}
