import Router, { type Layer, type MatchResult, type RouterInstance, type RouterOptions } from '@koa/router';
import type { State } from './context.ts';

/** The class of the library, whose types only describe how it is called. */
const PlainRouter = Router as unknown as new (options: RouterOptions) => RouterInstance<State>;

/**
 * The router of Koa with an index: it finds the layers of the path itself, or else tries those with parameters that
 * begin with the same one or two segments, where the library tries all. The result is that of the library, but that a
 * path is no parameter of another one: with a wrong method, `/api/generations/create/` is not the generation `create`.
 * Layers are registered without a trailing slash, which requests may have.
 */
export class IndexedRouter extends PlainRouter {
  #index: LayerIndex | undefined;

  override match(path: string, method: string): MatchResult<State> {
    this.#index ??= indexLayers(this.stack);
    const matched = findLayers(this.#index, path);
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

interface LayerIndex {
  /** Layers without parameters, by their path. */
  fixed: Map<string, Layer<State>[]>;
  /** Layers with parameters, by the one or two segments before the first. */
  patterns: Map<string, Layer<State>[]>;
}

function indexLayers(stack: readonly Layer<State>[]): LayerIndex {
  const index: LayerIndex = { fixed: new Map(), patterns: new Map() };
  for (const layer of stack) {
    const path = layer.path as string;
    const isPattern = /[:*]/.test(path);
    const layers = isPattern ? index.patterns : index.fixed;
    const key = isPattern ? (/^(?:\/[^/:{]+){1,2}/.exec(path)?.[0] ?? '') : path;
    layers.set(key, [...(layers.get(key) ?? []), layer]);
  }
  return index;
}

function findLayers({ fixed, patterns }: LayerIndex, path: string): Layer<State>[] {
  const layers = fixed.get(path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path);
  if (layers !== undefined) return layers;
  const [, first = '', second = ''] = path.split('/', 3);
  const candidates = [patterns.get(`/${first}/${second}`), patterns.get(`/${first}`)];
  return candidates.flatMap((found) => found?.filter((layer) => layer.match(path)) ?? []);
}
