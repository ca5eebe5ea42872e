import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { requireTestEnv } from '../harness/databases.ts';

const run = promisify(execFile);

describe('npm run bench', () => {
  it('prints a table of measurements and writes them as JSON', async function () {
    this.timeout(180_000);
    const json = join(requireTestEnv('TEST_FOLDER'), 'bench.json');
    const args = `--import tsx dev/bench/main.ts --quick --built --only create,read --json ${json}`;
    const { stdout } = await run(process.execPath, args.split(' '));
    expect(stdout).to.match(/figure +value +required +goal/);
    const { rows } = JSON.parse(readFileSync(json, 'utf8')) as { rows: { title: string; value: number | null }[] };
    expect(rows.length).to.be.above(3);
    for (const { title, value } of rows) expect(value, title).to.satisfy((is: number | null) => is === null || is > 0);
  });

  it('lists the known figures when --only names an unknown one', async () => {
    const ended = await run(process.execPath, ['--import', 'tsx', 'dev/bench/main.ts', '--only', 'cretae']).catch(
      (error: { code: number; stderr: string }) => error,
    );
    expect(ended).to.include({ code: 2 });
    expect(ended.stderr).to.include('--only cretae: unknown figure. Known: create, ');
  });
});
