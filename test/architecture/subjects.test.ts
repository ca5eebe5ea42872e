import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { isUnder, ROOT, sources } from './sources.ts';

const DOMAIN = 'shared/domain';
/** Imports that are named of each arrow of a circle. */
const FILES_NAMED_MAX = 2;

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

/** Finds the shortest path along imports from one subject to another; undefined if there is none. */
function findPath(graph: Graph, from: string, to: string): string[] | undefined {
  const paths = [[from]];
  const visited = new Set([from]);
  for (const path of paths) {
    const last = path.at(-1) as string;
    if (last === to) return path;
    for (const next of graph.get(last)?.keys() ?? []) {
      if (!visited.has(next)) paths.push([...path, next]);
      visited.add(next);
    }
  }
  return undefined;
}

/** Names the first imports of an arrow. An arrow that closes a circle seldom has more. */
function nameFiles(imports: readonly string[]): string {
  const named = imports.slice(0, FILES_NAMED_MAX).join(', ');
  return imports.length > FILES_NAMED_MAX ? `${named} and ${imports.length - FILES_NAMED_MAX} more` : named;
}

/** Describes the shortest circle that each import closes: its subjects, then the files of each of its imports. */
function describeCircles(graph: Graph): string[] {
  const circles = new Map<string, string>();
  for (const [from, arrows] of graph) {
    for (const to of arrows.keys()) {
      const path = findPath(graph, to, from);
      if (path === undefined) continue;
      const circle = [from, ...path];
      const files = path.map((subject, index) => nameFiles(graph.get(circle[index] as string)?.get(subject) ?? []));
      const description = `${circle.join(' -> ')}: ${files.join(', ')}`;
      // The same circle is found once for each of its subjects.
      const name = [...path].sort().join(' ');
      circles.set(name, circles.get(name) ?? description);
    }
  }
  return [...circles.values()];
}

/** Builds a file of the domain with its imports. */
function file(path: string, ...imports: string[]) {
  return { path: `${DOMAIN}/${path}`, imports: imports.map((imported) => `${DOMAIN}/${imported}`) };
}

describe('the subjects of shared/domain', () => {
  it('do not import each other in circles', () => {
    const graph = buildGraph(sources);
    expect([...graph.values()].reduce((sum, arrows) => sum + arrows.size, 0)).to.be.above(50);
    expect(
      describeCircles(graph),
      'Move the rule to the subject that it is about, or pass what it needs as a parameter.',
    ).to.deep.equal([]);
  });

  it('circles are found and described with their files', () => {
    const [a, b, c] = [file('a/one.ts', 'b/two.ts'), file('b/two.ts', 'c/in/four.ts'), file('c/three.ts', 'a/one.ts')];
    expect(describeCircles(buildGraph([a, b, file('c/three.ts', 'c/in/four.ts', 'functions.ts')]))).to.deep.equal([]);
    expect(describeCircles(buildGraph([a, b, c]))).to.deep.equal([
      'a -> b -> c -> a: shared/domain/a/one.ts -> shared/domain/b/two.ts, shared/domain/b/two.ts -> shared/domain/c/in/four.ts, shared/domain/c/three.ts -> shared/domain/a/one.ts',
    ]);
    expect(describeCircles(buildGraph([a, b, file('b/five.ts', 'a/six.ts')]))).to.deep.equal([
      'a -> b -> a: shared/domain/a/one.ts -> shared/domain/b/two.ts, shared/domain/b/five.ts -> shared/domain/a/six.ts',
    ]);
  });

  it('are listed in docs/architecture.md, each below those that it imports', () => {
    const rows = readFileSync(join(ROOT, 'docs/architecture.md'), 'utf8').matchAll(/^\| `domain\/([\w.]+)` \|/gm);
    const listed = [...rows].map(([, subject = '']) => subject);
    const folders = readdirSync(join(ROOT, DOMAIN), { withFileTypes: true }).filter((entry) => entry.isDirectory());
    expect(listed).to.have.members([...folders.map(({ name }) => name), FEATURES]);
    const upward = [...buildGraph(sources)].flatMap(([from, arrows]) =>
      [...arrows].filter(([to]) => listed.indexOf(to) > listed.indexOf(from)).flatMap(([, imports]) => imports),
    );
    expect(upward).to.deep.equal([]);
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
