// oxlint-disable-next-line typescript/no-explicit-any -- its schema is that of OpenAPI, which has no types here
type Json = Record<string, any>;

/** Schemas of responses; those that they refer to follow. */
const SCHEMAS = [
  'Generation',
  'Estimate',
  'Model',
  'Plan',
  'UsageSummary',
  'KeyUsage',
  'LedgerEntry',
  'ApiKey',
  'CreatedApiKey',
  'RedeemedGiftCode',
  'Upload',
  'CreatedUpload',
  'WebhookEndpoint',
  'WebhookEndpointWithSecret',
  'WebhookDelivery',
  'Pagination',
];
/** Names for the bodies of requests, and for the filters of lists, by operation. */
const BODIES: Record<string, string> = {
  createGeneration: 'CreateGeneration',
  createApiKey: 'CreateApiKey',
  updateApiKey: 'UpdateApiKey',
  createUpload: 'CreateUpload',
  createWebhook: 'CreateWebhook',
  updateWebhook: 'UpdateWebhook',
};
const FILTERS: Record<string, string> = {
  listGenerations: 'GenerationFilters',
  listLedgerEntries: 'LedgerFilters',
  listWebhookDeliveries: 'DeliveryFilters',
};
const CLIENT_ERROR_CODES = ['network_error', 'timeout', 'unexpected_response'];
const SCALARS: Record<string, string> = { integer: 'int', number: 'float', boolean: 'bool', string: 'str' };
const LINE_LENGTH = 100;
const BANNER = `# Generated from docs/openapi.json by npm run openapi. Do not edit.
"""Objects of requests and responses. They are plain dicts; fields may be added to responses."""

from __future__ import annotations

from typing import Any, Dict, List, Literal, Optional, TypedDict, Union
`;

/** Generates the types of the Python client from an OpenAPI document. */
export function generatePythonTypes(document: Json): string {
  const types = new PythonTypes(document);
  for (const name of SCHEMAS) types.convert({ $ref: name }, name);
  for (const path of Object.values(document['paths'])) {
    for (const { operationId: id, requestBody, parameters } of Object.values(path as Json) as Json[]) {
      const [body, filters] = [BODIES[id], FILTERS[id]];
      if (body !== undefined) types.convert(requestBody.content['application/json'].schema, body);
      if (filters !== undefined) types.convert(toObject(parameters), filters);
    }
  }
  const events = Object.entries(document['webhooks'] as Json).map(([type, { post }]) =>
    types.convert(post.requestBody.content['application/json'].schema, `${toPascalCase(type)}Event`),
  );
  const responses = Object.values(document['components'].responses as Json);
  const codes = new Set(responses.flatMap(({ content }) => readValues(content['application/json'].schema)));
  const aliases = [
    `WebhookEvent = Union[\n${events.map((name) => `    ${name},\n`).join('')}]`,
    `ErrorCode = Literal[\n${[...codes, ...CLIENT_ERROR_CODES].map((code) => `    "${code}",\n`).join('')}]`,
  ];
  return `${[BANNER, ...types.classes.values(), ...aliases].join('\n\n')}\n`;
}

/** Converts schemas to annotations, and declares the classes that these name. */
class PythonTypes {
  readonly classes = new Map<string, string>();
  readonly #schemas: Json;
  /** Slugs of the models. An operator configures others, so fields with them are strings. */
  readonly #models: string;

  constructor(document: Json) {
    this.#schemas = document['components'].schemas;
    this.#models = String(this.#schemas['Generation'].properties.model.enum);
  }

  /** @param name of the class, if the schema is an object with fields. */
  convert(schema: Json, name: string): string {
    if (schema['$ref'] !== undefined) {
      const target = String(schema['$ref']).split('/').at(-1) as string;
      if (!this.classes.has(target)) this.convert(this.#schemas[target], target);
      return target;
    }
    const variants = (schema['anyOf'] ?? []) as Json[];
    if (variants.length > 0) {
      const types = variants.filter(({ type }) => type !== 'null').map((one) => this.convert(one, name));
      const union = types.length === 1 ? String(types[0]) : `Union[${types.join(', ')}]`;
      return types.length === variants.length ? union : `Optional[${union}]`;
    }
    const kinds = [schema['type']].flat() as string[];
    if (kinds.includes('null')) {
      const values = (schema['enum'] as unknown[] | undefined)?.filter((value) => value !== null);
      const type = kinds.find((kind) => kind !== 'null');
      return `Optional[${this.convert({ ...schema, type, ...(values ? { enum: values } : {}) }, name)}]`;
    }
    const values = 'const' in schema ? [schema['const']] : (schema['enum'] as unknown[] | undefined);
    if (values !== undefined && String(values) !== this.#models) {
      return `Literal[${values.map((value) => JSON.stringify(value)).join(', ')}]`;
    }
    if (kinds[0] === 'array') return `List[${this.convert(schema['items'], name)}]`;
    if (kinds[0] !== 'object') return SCALARS[String(kinds[0])] ?? 'Any';
    if (schema['properties'] !== undefined) return this.#declare(schema, name);
    const value = schema['patternProperties'] ? Object.values(schema['patternProperties'])[0] : undefined;
    const item = (value ?? schema['additionalProperties']) as Json | undefined;
    return `Dict[str, ${item?.['type'] === undefined ? 'Any' : this.convert(item, name)}]`;
  }

  /** Declares a class. Optional fields need a class of their own: `NotRequired` is newer than Python 3.9. */
  #declare({ properties, required = [] }: Json, name: string): string {
    this.classes.set(name, '');
    const format = ([field, schema]: [string, Json]): string => {
      // The parameters are those of the model, which an operator configures.
      const type = field === 'params' ? 'Dict[str, Any]' : this.convert(schema, `${name}${toPascalCase(field)}`);
      return `${formatComment(schema['description'])}    ${field}: ${breakLine(type, field.length)}\n`;
    };
    const fields = Object.entries(properties as Json) as [string, Json][];
    const needed = fields.filter(([field]) => required.includes(field)).map(format);
    const optional = fields.filter(([field]) => !required.includes(field)).map(format);
    const base = needed.length > 0 && optional.length > 0 ? `_${name}Required` : 'TypedDict';
    const parts = [
      ...(base === 'TypedDict' ? [] : [`class ${base}(TypedDict):\n${needed.join('')}`]),
      `class ${name}(${base}${optional.length > 0 ? ', total=False' : ''}):\n${(optional.length > 0 ? optional : needed).join('')}`,
    ];
    // Classes that its fields name come before it.
    this.classes.delete(name);
    this.classes.set(name, parts.join('\n\n').trimEnd() + '\n');
    return name;
  }
}

/** Returns the query parameters of a list, without the page, as an object. */
function toObject(parameters: Json[]): Json {
  const filters = parameters.filter(({ in: place, name }) => place === 'query' && name !== 'page');
  const properties = filters.map(({ name, description, schema }) => [name, { ...schema, description }]);
  return { type: 'object', properties: Object.fromEntries(properties) };
}

/** Codes of an error response. */
function readValues({ properties: { error } }: Json): string[] {
  return error.enum ?? [error.const];
}

function toPascalCase(text: string): string {
  return text.replaceAll(/(?:^|[._-])(\w)/g, (_match, letter: string) => letter.toUpperCase());
}

/** Formats a description as comment lines of a field. */
function formatComment(text: string | undefined): string {
  if (text === undefined) return '';
  const lines: string[] = [];
  for (const word of text.split(/\s+/)) {
    const line = `${lines.at(-1) ?? ''} ${word}`;
    if (lines.length > 0 && line.length <= LINE_LENGTH - '    #'.length) lines[lines.length - 1] = line;
    else lines.push(` ${word}`);
  }
  return lines.map((line) => `    #${line}\n`).join('');
}

/** Breaks a list of values that is too long for its line, after its brackets. */
function breakLine(type: string, nameLength: number): string {
  if (`    ${' '.repeat(nameLength)}: ${type}`.length <= LINE_LENGTH) return type;
  const [, head, values, tail] = /^(.*\[)("[^\]]*")(\]+)$/.exec(type) ?? [];
  if (values === undefined) return type;
  const rows = values.split(', ').map((value) => `        ${value},\n`);
  return `${head}\n${rows.join('')}    ${tail}`;
}
