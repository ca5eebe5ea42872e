import Router, { type Layer, type MatchResult, type RouterInstance, type RouterOptions } from '@koa/router';
import type { State } from './context.ts';

/** The class of the library, whose types only describe how it is called. */
const PlainRouter = Router as unknown as new (options: RouterOptions) => RouterInstance<State>;

/**
 * The router of Koa with an index: it finds the layers of the path itself, or else tries those with parameters that begin
 * with the same one or two segments, where the library tries all. The result is that of the library, but that a path is no
 * parameter of another one: with a wrong method, `/api/generations/create/` is not the generation `create`. Layers are
 * registered without a trailing slash, which requests may have.
 */
export class IndexedRouter extends PlainRouter {
  #layers: Map<string, Layer<State>[]> | undefined;

  override match(path: string, method: string): MatchResult<State> {
    this.#layers ??= indexLayers(this.stack);
    const matched = findLayers(this.#layers, path);
    const pathAndMethod = matched.filter(({ methods }) => methods.includes(method));
    return { path: matched, pathAndMethod, route: pathAndMethod.length > 0 };
  }

  /** Runs the first route that matches. A route has one function, which ends the request, so none are composed. */
  override routes(): ReturnType<RouterInstance<State>['routes']> {
    return (ctx, next) => {
      const { path: matched, pathAndMethod } = this.match(ctx.path, ctx.method);
      const [layer] = pathAndMethod;
      ctx.matched = matched;
      if (layer === undefined) return next();
      ctx.params = layer.params(ctx.path, layer.captures(ctx.path));
      return layer.stack[0]?.(ctx as never, next);
    };
  }
}

/** Indexes layers by their path or, with parameters, by the one or two segments before the first and an asterisk. */
function indexLayers(stack: readonly Layer<State>[]): Map<string, Layer<State>[]> {
  const index = new Map<string, Layer<State>[]>();
  for (const layer of stack) {
    const path = layer.path as string;
    const key = /[:*]/.test(path) ? `${/^(?:\/[^/:{]+){1,2}/.exec(path)?.[0]}*` : path;
    index.set(key, [...(index.get(key) ?? []), layer]);
  }
  return index;
}

function findLayers(index: Map<string, Layer<State>[]>, path: string): Layer<State>[] {
  const fixed = index.get(path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path);
  if (fixed !== undefined) return fixed;
  const [, first = '', second = ''] = path.split('/', 3);
  const patterns = [index.get(`/${first}/${second}*`), index.get(`/${first}*`)];
  return patterns.flatMap((layers) => layers?.filter((layer) => layer.match(path)) ?? []);
}
