import { config } from '../../lib/config.ts';

/** A protected resource (RFC 8707): `/mcp`, or the REST interface. A grant and its tokens are for one of them. */
export type Resource = 'mcp' | 'api';

const RESOURCES: readonly Resource[] = ['mcp', 'api'];

/** Returns the identifier of a resource, the audience of its access tokens (spec: OAuth for MCP). */
export function getResourceUrl(resource: Resource): string {
  return resource === 'mcp' ? `${config.BASE_URL}/mcp` : `${config.BASE_URL}/api/`;
}

/** Finds a resource by its identifier, with or without a trailing slash. */
export function findResource(identifier: string): Resource | undefined {
  // Scheme and host are case-insensitive, the path is not (RFC 3986, 6.2.2.1).
  const canonical = identifier.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, (origin) => origin.toLowerCase());
  return RESOURCES.find((resource) => {
    const url = getResourceUrl(resource).replace(/\/$/, '');
    return canonical === url || canonical === `${url}/`;
  });
}

/** Expression for the resource of the grant `g`. It depends on the path only, since BASE_URL can change. */
export const GRANT_RESOURCE = `CASE WHEN g.resource LIKE '%/api/' THEN 'api' ELSE 'mcp' END`;
