import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { findImports, isUnder, packages, ROOT, sources, tools } from './sources.ts';

/** Layers of `shared`: each imports only itself and those before it. */
const LAYERS = ['spec', 'lib', 'queues', 'tables', 'gateways', 'presenters', 'domain'];

describe('the direction of imports', () => {
  it('finds the imports that it checks', () => {
    expect(findImports(isUnder('api'), isUnder('shared')).length).to.be.above(20);
    expect(findImports(isUnder('shared'), isUnder('shared')).length).to.be.above(50);
  });

  it('api and worker never import each other, and nothing shared imports them', () => {
    expect(findImports(isUnder('api'), isUnder('worker', 'migrations'))).to.deep.equal([]);
    expect(findImports(isUnder('worker'), isUnder('api', 'migrations'))).to.deep.equal([]);
    expect(findImports(isUnder('shared', 'migrations'), isUnder('api', 'worker'))).to.deep.equal([]);
    expect(findImports(isUnder('shared'), isUnder('migrations'))).to.deep.equal([]);
  });

  it('nothing that is deployed imports dev or test', () => {
    expect(findImports(() => true, isUnder('dev', 'test'))).to.deep.equal([]);
  });

  it('nothing that is deployed imports the packages, and they import no code of the service', () => {
    expect(findImports(() => true, isUnder('packages'))).to.deep.equal([]);
    const allowed: [string, RegExp][] = [
      ['packages/client/src', /^packages\/client\/src\//],
      ['packages/client/codegen', /^openapi-typescript$/],
      ['packages/cli/src', /^(?:packages\/cli\/src\/|@genmeter\/client$|commander$|node:)/],
    ];
    const forbidden = packages.flatMap(({ path, imports }) => {
      const rule = allowed.find(([folder]) => isUnder(folder)(path))?.[1];
      return imports.filter((name) => rule?.test(name) !== true).map((name) => `${path} -> ${name}`);
    });
    expect(packages.length).to.be.above(20);
    expect(forbidden).to.deep.equal([]);
  });

  for (const [index, layer] of LAYERS.entries()) {
    it(`shared/${layer} imports only ${['itself', ...LAYERS.slice(0, index)].join(', ')}`, () => {
      const later = LAYERS.slice(index + 1).map((name) => `shared/${name}`);
      expect(findImports(isUnder(`shared/${layer}`), isUnder(...later))).to.deep.equal([]);
    });
  }

  it('shared contains exactly the documented layers', () => {
    const layers = readdirSync(join(ROOT, 'shared'), { withFileTypes: true });
    // `service.ts` opens and closes the modules of these layers.
    expect(layers.map(({ name }) => name)).to.have.members([...LAYERS, 'service.ts']);
  });

  it('affiliates does not import billing, and domain/payments imports neither', () => {
    expect(findImports(isUnder('shared/domain/affiliates'), isUnder('shared/domain/billing'))).to.deep.equal([]);
    expect(
      findImports(isUnder('shared/domain/payments'), isUnder('shared/domain/billing', 'shared/domain/affiliates')),
    ).to.deep.equal([]);
  });

  it('one module sends requests with undici', () => {
    const senders = sources.filter(({ text }) =>
      /import (?:type )?\{[^}]*\b(?:request|fetch|stream)\b[^}]*\} from 'undici'/.test(text),
    );
    expect(senders.map(({ path }) => path)).to.deep.equal(['shared/gateways/httpClient.ts']);
  });

  it('there are no import cycles', () => {
    const importsOf = new Map([...sources, ...tools, ...packages].map(({ path, imports }) => [path, imports]));
    const cycles = new Set<string>();
    const cleared = new Set<string>();
    const walk = (path: string, trail: string[]) => {
      if (trail.includes(path)) cycles.add([...trail.slice(trail.indexOf(path)), path].join(' -> '));
      if (trail.includes(path) || cleared.has(path)) return;
      for (const imported of importsOf.get(path) ?? []) walk(imported, [...trail, path]);
      cleared.add(path);
    };
    for (const path of importsOf.keys()) walk(path, []);
    expect([...cycles]).to.deep.equal([]);
  });
});
