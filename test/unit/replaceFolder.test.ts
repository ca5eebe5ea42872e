import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { replaceFolder } from '../../dev/build/replaceFolder.ts';
import { expectRejection } from '../harness/expectRejection.ts';

describe('the folder of a build', () => {
  const parent = mkdtempSync(join(tmpdir(), 'genmeter-build-'));
  const folder = join(parent, 'dist');
  const read = () => readFileSync(join(folder, 'main.js'), 'utf8');
  after(() => rmSync(parent, { recursive: true }));

  /** Writes a build, during which the present one must be complete. */
  const write = (text: string, before: string | null) => async (added: string) => {
    mkdirSync(added);
    writeFileSync(join(added, 'main.js'), text);
    expect(existsSync(folder) ? read() : null).to.equal(before);
  };

  it('is complete during the next build, and replaced after it', async () => {
    await replaceFolder(folder, write('first', null));
    expect(read()).to.equal('first');
    await replaceFolder(folder, write('second', 'first'));
    expect(read()).to.equal('second');
  });

  it('stays as it is if the next build fails', async () => {
    const failing = replaceFolder(folder, async (added) => {
      await write('third', 'second')(added);
      throw new Error('does not compile');
    });
    await expectRejection(failing, /does not compile/);
    expect(read()).to.equal('second');
  });
});
