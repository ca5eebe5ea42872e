import type { ParamValue, Template } from '../spec/catalog.ts';

/**
 * Templates of upstream inputs and prices. They are data, so that another model needs only configuration.
 *
 * - `"$duration"` is the value itself (here a number); `"{duration}"` inside a string is its text (`"5"`);
 * - `{ "$by": "resolution aspect_ratio", "720p 16:9": "1280x720", ... }` looks the values up in a table;
 * - `null` leaves the field, or the entry of a list, out;
 * - every other value is literal; objects and lists may contain templates. A variable that is a list adds its entries
 *   to a list.
 */
export type { Template } from '../spec/catalog.ts';

/** Variables of a template: the prompt, the params, and images by their roles. What may be absent is null then. */
export type TemplateVariables = Readonly<Record<string, ParamValue | null>>;

/** Fills a template. @throws Error if it refers to an unknown variable or table entry. */
export function fillTemplate(template: Template, variables: TemplateVariables): unknown {
  if (typeof template === 'string') return fillString(template, variables);
  if (Array.isArray(template)) return template.flatMap((item) => fillEntry(item, variables));
  if (typeof template !== 'object' || template === null) return template;
  if ('$by' in template) return fillTemplate(resolveTable(template, variables), variables);
  const fields = Object.entries(template).map(([name, value]) => [name, fillTemplate(value, variables)] as const);
  return Object.fromEntries(fields.filter(([, value]) => value !== null));
}

function fillEntry(entry: Template, variables: TemplateVariables): unknown[] {
  const filled = fillTemplate(entry, variables);
  if (filled === null) return [];
  return typeof entry === 'string' && Array.isArray(filled) ? filled : [filled];
}

function fillString(text: string, variables: TemplateVariables): unknown {
  const whole = /^\$(\w+)$/.exec(text)?.[1];
  if (whole !== undefined) return getVariable(whole, variables);
  return text.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const value = getVariable(name, variables);
    if (value === null) throw new Error(`"${name}" may be absent, so it cannot be part of a text`);
    return String(value);
  });
}

function resolveTable(table: { [field: string]: Template }, variables: TemplateVariables): Template {
  const by = table['$by'];
  if (typeof by !== 'string') throw new Error('"$by" must be the names of the variables that select an entry');
  const names = by.split(' ');
  const key = names.map((name) => String(getVariable(name, variables))).join(' ');
  const found = Object.hasOwn(table, key) ? table[key] : undefined;
  if (found === undefined) throw new Error(`the table by ${names.join(' and ')} has no "${key}"`);
  return found;
}

function getVariable(name: string, variables: TemplateVariables): ParamValue | null {
  if (Object.hasOwn(variables, name)) return variables[name] ?? null;
  throw new Error(`unknown variable "${name}"; available are ${Object.keys(variables).join(', ')}`);
}

/** Lists the variables that select an entry of each table, together with those of the tables around it. */
export function listTableVariables(template: Template, outer: readonly string[] = []): string[][] {
  if (typeof template !== 'object' || template === null) return [];
  if (Array.isArray(template)) return template.flatMap((item) => listTableVariables(item, outer));
  const { $by: by, ...fields } = template;
  const names = typeof by === 'string' ? [...new Set([...outer, ...by.split(' ')])] : [...outer];
  const nested = Object.values(fields).flatMap((field) => listTableVariables(field, names));
  return typeof by === 'string' ? [names, ...nested] : nested;
}
