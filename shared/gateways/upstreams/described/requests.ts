import { fillTemplate, type TemplateVariables } from '../../../lib/template.ts';
import { isSafeString } from '../responses.ts';
import type { Protocol, ProtocolRequest } from './protocol.ts';

/**
 * Fills the address of a request. Values of its path are encoded, except for slashes.
 * @throws Error as {@link fillTemplate}
 */
export function buildUrl(baseUrl: string, { path, query }: ProtocolRequest, variables: TemplateVariables): string {
  const filled = fillTemplate(path ?? null, mapValues(variables, encodePath));
  if (typeof filled !== 'string' || !filled.startsWith('/'))
    throw new Error('the path must be a text that begins with /');
  const url = new URL(`${baseUrl}${filled}`);
  for (const [name, value] of Object.entries(fillTexts(query, variables))) url.searchParams.set(name, value);
  return url.href;
}

const encodePath = (value: TemplateVariables[string]) =>
  typeof value === 'string' ? value.split('/').map(encodeURIComponent).join('/') : value;

/** Fills texts by their names. Those whose whole variable is null are left out. */
export function fillTexts(texts: Record<string, string> = {}, variables: TemplateVariables): Record<string, string> {
  const filled = fillTemplate(texts, variables) as Record<string, unknown>;
  return mapValues(filled, String);
}

function mapValues<From, To>(object: Readonly<Record<string, From>>, map: (value: From) => To): Record<string, To> {
  return Object.fromEntries(Object.entries(object).map(([name, value]) => [name, map(value)]));
}

/** Returns true if a value is safe as a part of an address. Segments of dots would lead to another path. */
export function isSafeId(value: unknown): value is string {
  return isSafeString(value) && !value.split('/').some((segment) => /^\.*$/.test(segment));
}

/**
 * Parses a model id into the variables of the requests: `endpoint` and `model` for the pattern `{endpoint}/{model}`, of
 * which the last takes the rest. Undefined if it does not fit.
 */
export function parseModelId({ model: pattern = '{model}' }: Protocol, modelId: string): TemplateVariables | undefined {
  const names = [...pattern.matchAll(/\{(\w+)\}/g)].map(([, name]) => name as string);
  const source = pattern
    .split(/\{\w+\}/)
    .map((text) => text.replaceAll(/[$()*+.?[\\\]^{|}]/g, '\\$&'))
    .reduce((before, text, index) => `${before}${index === names.length ? '(.+)' : '([^/]+)'}${text}`);
  const found = new RegExp(`^${source}$`).exec(modelId);
  return found === null ? undefined : Object.fromEntries(names.map((name, index) => [name, found[index + 1] ?? null]));
}
