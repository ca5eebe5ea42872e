import { expect } from 'chai';
import { FEATURES } from '../../api/features/index.ts';
import { HTTP_ROUTES } from '../../api/router.ts';
import { isUnder, sources } from './sources.ts';

const pages = sources.filter(({ path }) => isUnder('api/features')(path));
const entries = FEATURES.flatMap(({ navigation = [] }) => navigation);

/** Resolves a path that a page names as its place in the navigation: a text, or a constant of a module of pages. */
function resolvePath(name: string): string {
  if (name.startsWith("'")) return name.slice(1, -1);
  const found = pages.map(({ text }) => new RegExp(`const ${name} = '([^']+)'`).exec(text)?.[1]);
  return found.find((path) => path !== undefined) ?? name;
}

describe('the navigation', () => {
  it('links pages that exist, with the permission that each requires', () => {
    const unknown = entries.filter((entry) => {
      const route = HTTP_ROUTES.find(
        ([method, path]) => ['GET', '*'].includes(method) && [entry.path, `${entry.path}/*`].includes(path),
      );
      const permission = 'permission' in entry ? entry.permission : undefined;
      return route === undefined || route[7]?.permission !== permission;
    });
    expect(unknown).to.deep.equal([]);
  });

  it('has an entry for the place that each page names, and an order', () => {
    const named = pages.flatMap(({ text }) =>
      [...text.matchAll(/[{ ]current: ([A-Z_]+(?=[,;\s}])|'\/[^']*')/g)].map(([, name]) => name),
    );
    expect(named).to.have.length.above(25);
    // Pages that are open to all have no navigation of an area.
    const paths: string[] = ['/', '/models/', '/pricing/', '/docs/', ...entries.map(({ path }) => path)];
    expect(named.filter((name) => !paths.includes(resolvePath(name as string)))).to.deep.equal([]);
    const places = entries.map(({ path, order }) => `${path.split('/')[1]} ${order}`);
    expect(new Set(places).size).to.equal(entries.length);
  });
});
