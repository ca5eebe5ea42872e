import { join } from 'node:path';
import { expect } from 'chai';
import { readProcfileFlags } from '../../dev/build/procfileFlags.ts';
import { PROGRAMS } from '../../dev/build/programs.ts';
import { ROOT } from '../../dev/local/environment/build.ts';
import { runProgram } from '../../dev/local/environment/program.ts';

describe('npm run build', () => {
  for (const name of Object.keys(PROGRAMS).filter((program) => program !== 'sampleUpstream')) {
    it(`writes a code cache of ${name} that Node accepts with the flags of the Procfile`, async () => {
      const loader = join(ROOT, 'dist/bundles/loadBundle.cjs');
      const report = 'console.log(script.cachedDataRejected); process.exit(0);';
      const code = `require(${JSON.stringify(loader)})('${name}', (script) => { ${report} })`;
      const { out, err } = await runProgram({ args: [...readProcfileFlags(name), '-e', code] });
      expect(out.trim(), err).to.equal('false');
    });
  }
});
