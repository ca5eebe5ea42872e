import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { expect } from 'chai';
import { endWithFile, mochaHooks } from '../harness/testLogs.ts';

describe('npm test', () => {
  it('fails with one sentence when no title matches the pattern of -g', async () => {
    const args = ['--import', 'tsx', 'test/run.ts', 'test/unit/addMonths.test.ts', '-g', 'no test has this title'];
    const { PATH, TMPDIR } = process.env;
    const child = spawn(process.execPath, args, { env: { PATH, TMPDIR } });
    const [[status], err] = await Promise.all([once(child, 'exit'), text(child.stderr), text(child.stdout)]);
    expect([status, err]).to.deep.equal([
      1,
      'No test was run: no title in the selected files matches the pattern of -g or -f.\n',
    ]);
  });

  it('ends a service that a test has left open before the next file of the process', async () => {
    const ended: string[] = [];
    endWithFile({}, async () => void ended.push('service'));
    await mochaHooks.afterAll.call({} as Mocha.Context);
    await mochaHooks.afterAll.call({} as Mocha.Context);
    expect(ended).to.deep.equal(['service']);
  });
});
