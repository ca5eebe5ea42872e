import Router from '@koa/router';
import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { HTTP_ROUTES, LOCAL_SIGN_IN_ROUTES } from '../../api/router.ts';
import { createRouter } from '../../api/serveRoutes.ts';
import { ALL_ROUTES } from '../harness/routes.ts';

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

/** Paths that requests may have: of all routes, and near them. */
function listPaths(): string[] {
  return ALL_ROUTES.flatMap(({ path }) => {
    const filled = path.replaceAll(/:\w+/g, () => randomUUID()).replace(/\*$/, 'queues/x');
    const bare = filled.replace(/(?<=.)\/$/, '');
    return [
      bare,
      `${bare}*`,
      `${path.split('/:')[0]}*`,
      `${bare}/`,
      `${bare}//`,
      `${bare}x`,
      `${bare}/x`,
      bare.toUpperCase(),
      `/x${bare}`,
      bare.slice(0, -1),
    ];
  });
}

describe('the router with an index', () => {
  const indexed = createRouter([...HTTP_ROUTES, ...LOCAL_SIGN_IN_ROUTES]);
  // The same layers, so that their identity can be compared.
  const plain = Object.assign(new Router({ sensitive: true }), { stack: indexed.stack });

  it('finds the route that the router of Koa finds, for every method and path', () => {
    const differences = new Set<string>();
    for (const path of listPaths()) {
      for (const method of METHODS) {
        const expected = plain.match(path, method);
        const found = indexed.match(path, method);
        const isSame =
          expected.route === found.route && expected.pathAndMethod[0] === (found.pathAndMethod[0] as unknown);
        if (!isSame) differences.add(`${method} ${path.replace(/\/$/, '')}`);
      }
    }
    // Paths that have the form of another one with a parameter, which have no such method.
    expect([...differences].filter((name) => !/\/(create|estimate|default|end-others)\b/.test(name))).to.deep.equal([]);
  });

  it('finds every route by its own path, with and without the trailing slash', () => {
    for (const { method, path, name } of ALL_ROUTES) {
      const filled = path.replaceAll(/:\w+/g, () => randomUUID()).replace(/\*$/, 'x');
      const bare = filled.replace(/(?<=.)\/$/, '');
      for (const one of [bare, `${bare}/`])
        expect(indexed.match(one, method.replace('*', 'GET')).route, name).to.equal(true);
    }
  });

  it('takes a path without parameters for no parameter of another one', () => {
    const { path, route } = indexed.match('/api/generations/create/', 'GET');
    expect([route, path.flatMap(({ methods }) => methods)]).to.deep.equal([false, ['POST']]);
  });
});
