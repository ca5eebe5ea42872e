import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { ROOT } from '../../dev/local/environment/build.ts';

const SETS = ['agents', 'clients'];
/** Packages that tested ones need beside them. */
const UNLISTED = /^(?:@langchain\/(?:core|langgraph)|@mastra\/core|ai|zod)$/;

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

describe('docs/assistants.md', () => {
  it('lists the versions that test/e2e installs', () => {
    const installed = SETS.flatMap((set) =>
      Object.entries<string>(JSON.parse(read(`test/e2e/assistants/${set}/package.json`)).dependencies),
    ).filter(([name]) => !UNLISTED.test(name));
    const rows = [...read('docs/assistants.md').matchAll(/^\| .*?`([^`]+)`\)? \| (\d+\.\d+\.\d+) \|/gm)];
    expect(Object.fromEntries(rows.map(([, name, version]) => [name, version]))).to.deep.equal(
      Object.fromEntries(installed),
    );
  });

  it('is tested with the versions of the official SDK that the other tests use', () => {
    const { devDependencies } = JSON.parse(read('package.json'));
    const { dependencies } = JSON.parse(read('test/e2e/assistants/clients/package.json'));
    for (const name of ['@modelcontextprotocol/client', '@modelcontextprotocol/sdk']) {
      expect(dependencies[name]).to.equal(devDependencies[name]);
    }
  });

  it('has tests whose lock files name no registry and pin the integrity of every package', () => {
    for (const set of SETS) {
      const { packages } = JSON.parse(read(`test/e2e/assistants/${set}/package-lock.json`));
      for (const [path, entry] of Object.entries<Record<string, unknown>>(packages)) {
        if (path === '') continue;
        expect(entry, path).to.have.property('integrity');
        expect(entry, path).not.to.have.property('resolved');
      }
    }
  });
});
