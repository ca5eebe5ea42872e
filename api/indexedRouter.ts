import Router, { type Layer, type MatchResult, type RouterInstance, type RouterOptions } from '@koa/router';
import type { State } from './context.ts';

/** The class of the library, whose types only describe how it is called. */
const PlainRouter = Router as unknown as new (options: RouterOptions) => RouterInstance<State>;

/**
 * The router of Koa with an index: it finds the layers of the path itself, or else tries those with parameters that begin
 * with the same segment, where the library tries all. The result is that of the library, but that a path is no parameter of
 * another one: with a wrong method, `/api/generations/create/` is not the generation `create`. Layers are registered without
 * a trailing slash, which requests may have.
 */
export class IndexedRouter extends PlainRouter {
  #layers: Map<string, Layer<State>[]> | undefined;

  override match(path: string, method: string): MatchResult<State> {
    this.#layers ??= indexLayers(this.stack);
    const fixed = this.#layers.get(path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path);
    const matched = fixed ?? this.#layers.get(getPatternKey(path))?.filter((layer) => layer.match(path)) ?? [];
    const pathAndMethod = matched.filter(({ methods }) => methods.includes(method));
    return { path: matched, pathAndMethod, route: pathAndMethod.length > 0 };
  }
}

function indexLayers(stack: readonly Layer<State>[]): Map<string, Layer<State>[]> {
  const index = new Map<string, Layer<State>[]>();
  for (const layer of stack) {
    const path = layer.path as string;
    const key = /[:*]/.test(path) ? getPatternKey(path) : path;
    index.set(key, [...(index.get(key) ?? []), layer]);
  }
  return index;
}

/** Returns the first segment of a path and an asterisk, which no path without parameters has. */
function getPatternKey(path: string): string {
  return `${/^\/[^/{]*/.exec(path)?.[0] ?? ''}*`;
}
