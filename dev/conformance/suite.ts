import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runProgram } from '../local/environment/program.ts';

/** The official suite, and the Node version that it needs; npx fetches both from the registry on first use. */
const SUITE_PACKAGE = '@modelcontextprotocol/conformance@0.2.0-alpha.12';
const NODE_PACKAGE = 'node@22';

export interface SuiteCheck {
  id: string;
  status: string;
  /** Reason of the failure. */
  message: string;
}

/** Runs all server scenarios of a protocol version. @returns the checks of each scenario, by its name. */
export async function runSuite(url: string, version: string): Promise<Map<string, SuiteCheck[]>> {
  const folder = mkdtempSync(join(tmpdir(), 'conformance-'));
  try {
    const tool = ['-y', '-p', NODE_PACKAGE, '-p', SUITE_PACKAGE, 'conformance'];
    const args = ['server', '--url', url, '--suite', 'all', '--spec-version', version, '-o', folder];
    // The exit status is not used: the suite fails for expected failures, too.
    const { out, err } = await runProgram({
      file: 'npx',
      args: [...tool, ...args],
      cwd: folder,
      env: process.env,
      usesShell: process.platform === 'win32',
    });
    const results = readResults(folder);
    if (results.size === 0) throw new Error(`The suite did not run:\n${`${out}${err}`.slice(-2_000)}`);
    return results;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

interface StoredCheck {
  id: string;
  status: string;
  errorMessage?: string;
}

/** Reads a folder per scenario, `server-<name>-<time>`, with its checks as JSON. */
function readResults(folder: string): Map<string, SuiteCheck[]> {
  const results = new Map<string, SuiteCheck[]>();
  for (const name of readdirSync(folder).sort()) {
    const scenario = /^server-(.+)-\d{4}-\d\d-\d\dT/.exec(name)?.[1];
    if (scenario === undefined) continue;
    const checks = JSON.parse(readFileSync(join(folder, name, 'checks.json'), 'utf8')) as StoredCheck[];
    results.set(
      scenario,
      checks.map(({ id, status, errorMessage = '' }) => ({ id, status, message: errorMessage })),
    );
  }
  return results;
}
