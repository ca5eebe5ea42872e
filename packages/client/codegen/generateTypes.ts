import openapiTs, { astToString } from 'openapi-typescript';

const BANNER = `// Generated from docs/openapi.json by npm run openapi. Do not edit.
`;

type Response = { headers?: unknown };
type PathItem = Record<string, { responses?: Record<string, Response> }>;
interface Document {
  paths: Record<string, PathItem>;
  webhooks?: Record<string, PathItem>;
  components: { responses: Record<string, Response> };
}

/**
 * Generates the TypeScript types of an OpenAPI document: components, and what operations and webhooks take and return.
 * Errors, which are the same for all operations, are in `components.responses`.
 */
export async function generateTypes(document: object): Promise<string> {
  const source = structuredClone(document) as Document;
  removeErrorsAndHeaders(source);
  const nodes = await openapiTs(source as unknown as Parameters<typeof openapiTs>[0], {
    // A parameter with a default may be left out of a request.
    defaultNonNullable: false,
    alphabetize: false,
  });
  const isUsed = (node: (typeof nodes)[number]) =>
    !('name' in node && (node.name as { text?: string }).text === 'paths');
  return `${BANNER}\n${astToString(nodes.filter(isUsed))}`;
}

function removeErrorsAndHeaders({ paths, webhooks = {}, components }: Document): void {
  const items = [...Object.values(paths), ...Object.values(webhooks)];
  const all = [components, ...items.flatMap((item) => Object.values(item))];
  for (const { responses = {} } of all)
    for (const [status, response] of Object.entries(responses)) {
      delete response.headers;
      if (/^([45]|default$)/.test(status)) delete responses[status];
    }
}
