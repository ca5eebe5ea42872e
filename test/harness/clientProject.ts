import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT } from '../../dev/local/environment/build.ts';
import { type ProgramOptions, type ProgramResult, runProgram } from '../../dev/local/environment/program.ts';

export const CLIENT_GUIDE = readFileSync(join(ROOT, 'docs/client.md'), 'utf8');
/** Commands of the guide. The first block installs the packages. */
export const [INSTALL_COMMANDS = '', ...SHELL_BLOCKS] = [...CLIENT_GUIDE.matchAll(/^```sh\n([^]*?)^```$/gm)].map(
  ([, block = '']) => block,
);

/** A project of a customer, with both packages installed from the service as the guide says. */
export class ClientProject {
  readonly folder = mkdtempSync(join(tmpdir(), 'genmeter-packages-'));
  readonly env: Record<string, string>;

  constructor(env: Record<string, string>) {
    this.env = {
      PATH: `${join(this.folder, 'global/bin')}:${process.env['PATH']}`,
      HOME: this.folder,
      npm_config_prefix: join(this.folder, 'global'),
      // Nothing is read from a registry.
      npm_config_registry: 'http://127.0.0.1:9',
      npm_config_audit: 'false',
      npm_config_fund: 'false',
      npm_config_update_notifier: 'false',
      ...env,
    };
  }

  /** Installs the packages that a service offers. */
  async install(serviceUrl: string): Promise<void> {
    writeFileSync(join(this.folder, 'package.json'), '{ "private": true, "type": "module" }');
    await this.runShell(INSTALL_COMMANDS.replaceAll('http://localhost:3000', serviceUrl));
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
