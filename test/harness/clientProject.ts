import { mkdirSync, mkdtempSync, readFileSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT } from '../../dev/local/environment/build.ts';
import { type ProgramOptions, type ProgramResult, runProgram } from '../../dev/local/environment/program.ts';
import { requireTestEnv } from './databases.ts';
import { eventually } from './testService.ts';

const PACKING_TIMEOUT_MS = 120_000;

export const CLIENT_GUIDE = readFileSync(join(ROOT, 'docs/client.md'), 'utf8');
/** Commands of the guide. The first block installs the packages. */
export const [INSTALL_COMMANDS = '', ...SHELL_BLOCKS] = [...CLIENT_GUIDE.matchAll(/^```sh\n([^]*?)^```$/gm)].map(
  ([, block = '']) => block,
);

/** A project of a customer, with both packages installed from their tarballs as the guide says. */
export class ClientProject {
  readonly folder = mkdtempSync(join(tmpdir(), 'genmeter-packages-'));
  readonly env: Record<string, string>;

  constructor(env: Record<string, string>) {
    this.env = {
      PATH: `${join(this.folder, 'node_modules/.bin')}:${process.env['PATH']}`,
      HOME: this.folder,
      PROJECT: this.folder,
      // Nothing is read from a registry: the lock file of the service pins the same version.
      npm_config_offline: 'true',
      npm_config_audit: 'false',
      npm_config_fund: 'false',
      npm_config_update_notifier: 'false',
      ...env,
    };
  }

  /** Packs and installs the packages. Two files of a test run do that one after the other, in the same source folders. */
  async install(): Promise<void> {
    writeFileSync(join(this.folder, 'package.json'), '{ "private": true, "type": "module" }');
    const commander = `npm pack --silent ./node_modules/commander --ignore-scripts --pack-destination "$PROJECT"
      cd "$PROJECT" && npm install --silent ./commander-*.tgz`;
    const lock = join(requireTestEnv('TEST_FOLDER'), 'packing');
    await eventually('the other file has packed', () => tryLock(lock), PACKING_TIMEOUT_MS);
    try {
      for (const script of [commander, INSTALL_COMMANDS]) await this.runShell(script, ROOT);
    } finally {
      rmdirSync(lock);
    }
  }

  /** Runs a program to its end. */
  run(file: string, args: string[], options: Pick<ProgramOptions, 'cwd' | 'env'> = {}): Promise<ProgramResult> {
    return runProgram({ file, args, cwd: this.folder, ...options, env: { ...this.env, ...options.env } });
  }

  /** Runs a script as in a shell of the customer. @throws Error if a line of it fails. */
  async runShell(script: string, cwd = this.folder): Promise<ProgramResult> {
    const result = await this.run('bash', ['-euc', script], { cwd });
    if (result.status !== 0) throw new Error(`The script ended with ${result.status}:\n${result.out}${result.err}`);
    return result;
  }

  write(name: string, text: string): void {
    writeFileSync(join(this.folder, name), text);
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

function tryLock(folder: string): boolean {
  try {
    mkdirSync(folder);
    return true;
  } catch {
    return false;
  }
}
