import { cpSync, symlinkSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect } from 'chai';
import { runProgram } from '../../dev/local/environment/program.ts';
import { CommandLineError, parseCommandLine } from '../../shared/lib/commandLine.ts';
import { requireTestEnv } from '../harness/databases.ts';
import { startTestService } from '../harness/testService.ts';

/** Commands for people, with the main file that their script in `package.json` names. */
const COMMANDS: [name: string, main: string][] = [
  ['npm start', 'dev/local/start.ts'],
  ['npm run demo', 'dev/demo/main.ts'],
  ['npm run bench', 'dev/bench/main.ts'],
  ['npm run drill', 'dev/drill/main.ts'],
  ['npm run chaos', 'dev/chaos/main.ts'],
  ['npm run chaos:seeded-bugs', 'dev/chaos/seededBugs/main.ts'],
  ['npm run conformance', 'dev/conformance/main.ts'],
  ['npm run stripe:setup', 'dev/stripeSetup.ts'],
  ['npm run oauth:rotate-keys', 'dist/api/oauth/rotateKeys.js'],
  ['npm run release', 'dist/migrations/main.js'],
];

const run = (main: string, ...args: string[]) =>
  runProgram({ args: [...(main.endsWith('.ts') ? ['--import', 'tsx'] : []), main, ...args] });

describe('command lines', function () {
  this.timeout(120_000);

  it('print their usage with --help', async () => {
    const results = await Promise.all(COMMANDS.map(([, main]) => run(main, '--help')));
    for (const [index, [name]] of COMMANDS.entries()) {
      const { status, out, err } = results[index]!;
      expect([status, err], name).to.deep.equal([0, '']);
      expect(out).to.include(name);
    }
  });

  it('reject an unknown option with one sentence and do nothing', async () => {
    const { status, out, err } = await run('dev/demo/main.ts', '--hepl');
    expect([status, out]).to.deep.equal([2, '']);
    expect(err).to.match(/^Unknown option '--hepl'\./);
  });

  it('npm run admin and npm run check run from the sources without a build', async () => {
    const service = await startTestService({ workers: 0 });
    const customer = await service.createCustomer('pro');
    const clone = join(requireTestEnv('TEST_FOLDER'), 'clone');
    for (const part of ['package.json', 'shared', 'worker']) cpSync(part, join(clone, part), { recursive: true });
    symlinkSync(resolve('node_modules'), join(clone, 'node_modules'), 'dir');
    const scripts = [
      ['admin', 'find-account', customer.email],
      ['check', '--json'],
    ] as const;
    for (const [script, ...args] of scripts) {
      const env = { ...service.env, HOME: clone };
      const { status, out, err } = await runProgram({
        file: 'npm',
        args: ['run', '--silent', script, '--', ...args],
        env,
        cwd: clone,
      });
      expect([status, err], out).to.deep.equal([0, '']);
      if (script === 'check') expect(JSON.parse(out).holds).to.equal(true);
      else expect(out).to.include(customer.email);
    }
    await service.stop();
  });

  it('npm run chaos rejects a negative seed and names the allowed range', async () => {
    const { status, err } = await run('dev/chaos/main.ts', '--seed', '-1');
    expect(status).to.equal(2);
    expect(err).to.equal('--seed must be a number from 0 to 2147483648, not "-1". See: npm run chaos -- --help\n');
  });

  it('an invalid argument is rejected with one sentence that names it', () => {
    const options = { seed: { type: 'string' }, calm: { type: 'boolean' } } as const;
    for (const [args, sentence] of [
      [['--sead', '1'], "Unknown option '--sead'."],
      [['now'], "Unexpected argument 'now'."],
      [['--seed'], "Option '--seed <value>' argument missing."],
      [['--seed', '--calm'], "Option '--seed <value>' argument '--calm' is invalid. The value is missing."],
      [['--calm=yes'], "Unknown option '--calm=yes'."],
    ] as const) {
      expect(() => parseCommandLine(args, options)).to.throw(CommandLineError, sentence);
    }
    expect(parseCommandLine(['--seed', '-1', '--calm'], options).values).to.deep.include({ seed: '-1', calm: true });
  });
});
