import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { ROOT } from '../../dev/local/environment/build.ts';

const SETS = ['agents', 'clients'];
/** Dependencies of the project, with which contract tests run the programs of the documentation. */
const SDKS = ['@modelcontextprotocol/client', '@modelcontextprotocol/sdk'];
/** Packages that tested ones need beside them. */
const UNLISTED = /^(?:@langchain\/(?:core|langgraph)|@mastra\/core|ai|zod)$/;

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

describe('docs/assistants.md', () => {
  it('lists the versions that test/release installs, and those of the official SDK that all tests use', () => {
    const installed = SETS.flatMap((set) =>
      Object.entries<string>(JSON.parse(read(`test/release/${set}/package.json`)).dependencies),
    ).filter(([name]) => !UNLISTED.test(name));
    const { devDependencies } = JSON.parse(read('package.json')) as { devDependencies: Record<string, string> };
    for (const name of SDKS) installed.push([name, devDependencies[name] as string]);
    const rows = [...read('docs/assistants.md').matchAll(/^\| .*?`([^`]+)`\)? \| (\d+\.\d+\.\d+) \|/gm)];
    expect(Object.fromEntries(rows.map(([, name, version]) => [name, version]))).to.deep.equal(
      Object.fromEntries(installed),
    );
  });

  it('has tests whose lock files name no registry and pin the integrity of every package', () => {
    for (const set of SETS) {
      const { packages } = JSON.parse(read(`test/release/${set}/package-lock.json`));
      for (const [path, entry] of Object.entries<Record<string, unknown>>(packages)) {
        if (path === '') continue;
        expect(entry, path).to.have.property('integrity');
        expect(entry, path).not.to.have.property('resolved');
      }
    }
  });
});
