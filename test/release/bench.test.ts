import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { runProgram } from '../../dev/local/environment/program.ts';
import { requireTestEnv } from '../harness/databases.ts';

describe('npm run bench', () => {
  it('prints a table of measurements and writes them as JSON', async function () {
    this.timeout(500_000);
    const json = join(requireTestEnv('TEST_FOLDER'), 'bench.json');
    const args = `--import tsx dev/bench/main.ts --quick --built --only read --json ${json}`;
    const { status, out, err } = await runProgram({ args: args.split(' '), env: process.env });
    expect(status, err).to.equal(0);
    expect(out, err).to.match(/figure +value +required +goal/);
    const { rows } = JSON.parse(readFileSync(json, 'utf8')) as { rows: { name: string; value: number | null }[] };
    expect(rows).to.have.length(1);
    for (const { name, value } of rows) expect(value, name).to.satisfy((is: number | null) => is === null || is > 0);
  });

  it('lists the known figures when --only names an unknown one', async () => {
    const { status, err } = await runProgram({ args: ['--import', 'tsx', 'dev/bench/main.ts', '--only', 'cretae'] });
    expect(status).to.equal(2);
    expect(err).to.include('--only cretae: unknown figure. Known: create, ');
  });
});
