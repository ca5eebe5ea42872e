import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { isUnder, ROOT, sources } from './sources.ts';

const DOMAIN = 'shared/domain';

/** Imports of one subject by another, as `file -> import`, by the imported subject and the importing one. */
type Graph = ReadonlyMap<string, ReadonlyMap<string, readonly string[]>>;

/** Lists the features of the subjects. It has a place in their order, like a subject. */
const FEATURES = 'features.ts';

/** `shared/domain/credits/ledger.ts` belongs to `credits`; undefined for files outside of a subject. */
function findSubject(path: string): string | undefined {
  const [subject, file] = isUnder(DOMAIN)(path) ? path.slice(DOMAIN.length + 1).split('/') : [];
  return file === undefined && subject !== FEATURES ? undefined : subject;
}

/** Builds the graph of the subjects from the imports of their files. */
function buildGraph(files: readonly { path: string; imports: readonly string[] }[]): Graph {
  const graph = new Map<string, Map<string, string[]>>();
  for (const { path, imports } of files) {
    for (const imported of imports) {
      const [from, to] = [findSubject(path), findSubject(imported)];
      if (from === undefined || to === undefined || from === to) continue;
      const arrows = graph.get(from) ?? new Map<string, string[]>();
      graph.set(from, arrows.set(to, [...(arrows.get(to) ?? []), `${path} -> ${imported}`]));
    }
  }
  return graph;
}

describe('the subjects of shared/domain', () => {
  it('are listed in docs/architecture.md, each below those that it imports, so that there are no circles', () => {
    const rows = readFileSync(join(ROOT, 'docs/architecture.md'), 'utf8').matchAll(/^\| `domain\/([\w.]+)` \|/gm);
    const listed = [...rows].map(([, subject = '']) => subject);
    const folders = readdirSync(join(ROOT, DOMAIN), { withFileTypes: true }).filter((entry) => entry.isDirectory());
    expect(listed).to.have.members([...folders.map(({ name }) => name), FEATURES]);
    const graph = buildGraph(sources);
    expect([...graph.values()].reduce((sum, arrows) => sum + arrows.size, 0)).to.be.above(50);
    const upward = [...graph].flatMap(([from, arrows]) =>
      [...arrows].filter(([to]) => listed.indexOf(to) > listed.indexOf(from)).flatMap(([, imports]) => imports),
    );
    expect(
      upward,
      'Move the rule to the subject that it is about, or pass what it needs as a parameter.',
    ).to.deep.equal([]);
  });

  it('are folders with a README.md that says where to begin', () => {
    const entries = readdirSync(join(ROOT, DOMAIN), { withFileTypes: true });
    // The types of a feature, and the list of all.
    const files = entries.filter((entry) => !entry.isDirectory()).map(({ name }) => name);
    expect(files).to.have.members(['exportList.ts', 'feature.ts', FEATURES, 'invariant.ts', 'retention.ts']);
    const subjects = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
    expect(subjects.filter((name) => !existsSync(join(ROOT, DOMAIN, name, 'README.md')))).to.deep.equal([]);
  });
});
