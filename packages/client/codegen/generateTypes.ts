import openapiTs, { astToString } from 'openapi-typescript';

const BANNER = `// Generated from docs/openapi.json by npm run openapi. Do not edit.
`;

/** Generates the TypeScript types of an OpenAPI document. */
export async function generateTypes(document: object): Promise<string> {
  // A parameter with a default may be left out of a request.
  const nodes = await openapiTs(structuredClone(document) as Parameters<typeof openapiTs>[0], {
    defaultNonNullable: false,
    alphabetize: false,
  });
  return `${BANNER}\n${astToString(nodes)}`;
}
