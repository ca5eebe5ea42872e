import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { waitUntil } from './servers/processes.ts';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** A process of the service as it is deployed: the built code, run by plain node. */
export interface BuiltProcess {
  pid: number;
  /** Stops it gracefully, and returns what it wrote to its log. */
  end(): Promise<string>;
}

export interface BuiltProcessOptions {
  env: NodeJS.ProcessEnv;
  logFile: string;
  profileDir?: string | undefined;
}

/** Starts `dist/api/main.js` or another main file of the build, with its flags from the Procfile. */
export async function startBuiltProcess(script: string, options: BuiltProcessOptions): Promise<BuiltProcess> {
  const profile = options.profileDir === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${options.profileDir}`];
  const log = openSync(options.logFile, 'a');
  const args = [...readProcfileFlags(script), ...profile, script];
  const child = spawn(process.execPath, args, { cwd: ROOT, env: options.env, stdio: ['ignore', log, log] });
  closeSync(log);
  await once(child, 'spawn');
  return {
    pid: child.pid as number,
    end: async () => {
      await terminateGracefully(child);
      return readFileSync(options.logFile, 'utf8');
    },
  };
}

/** Runs a main file of the build to its end. */
export async function runBuiltProgram(script: string, env: NodeJS.ProcessEnv): Promise<void> {
  const child = spawn(process.execPath, [script], { cwd: ROOT, env, stdio: 'inherit' });
  const [status] = (await once(child, 'exit')) as [number | null];
  if (status !== 0) throw new Error(`${script} exited with ${status}.`);
}

/** Rebuilds `dist`, so that the current source is measured. */
export async function buildDist(): Promise<void> {
  const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm';
  const child = spawn(npm, ['run', '--silent', 'build'], {
    cwd: ROOT,
    stdio: 'inherit',
    shell: process.platform === 'win32',
  });
  const [status] = (await once(child, 'exit')) as [number | null];
  if (status !== 0) throw new Error('npm run build failed.');
}

/** Resolves once an address responds with 200. */
export async function waitUntilHealthy(url: string): Promise<void> {
  const isHealthy = () =>
    fetch(url).then(
      ({ status }) => status === 200,
      () => false,
    );
  if (!(await waitUntil(isHealthy, 30_000))) throw new Error(`${url} did not become healthy within 30 s.`);
}

/** Reads the node flags of a main file from the Procfile. */
export function readProcfileFlags(script: string): string[] {
  const line = readFileSync(join(ROOT, 'Procfile'), 'utf8')
    .split('\n')
    .find((entry) => entry.includes(script));
  if (line === undefined) throw new Error(`The Procfile has no process for ${script}.`);
  return line.split(/\s+/).filter((word) => word.startsWith('--'));
}

async function terminateGracefully(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  await exited;
}
