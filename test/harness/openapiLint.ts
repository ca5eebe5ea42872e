import { createConfig, lintFromString } from '@redocly/openapi-core';

/** Lists the problems of an OpenAPI document, including examples that do not match their schemas. */
export async function lintDocument(document: unknown): Promise<string[]> {
  const config = await createConfig({
    extends: ['recommended-strict'],
    // The paths of the specification end in a slash.
    rules: { 'no-path-trailing-slash': 'off' },
  });
  const problems = await lintFromString({ source: JSON.stringify(document), config });
  return problems.map(({ ruleId, message, location }) => `${ruleId}: ${message} ${location[0]?.pointer}`);
}
