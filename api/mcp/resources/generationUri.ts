import { isUuid } from '../../../shared/lib/uuid.ts';

const GENERATION_SCHEME = 'generation://';

/** URI template of the generation resources. */
export const GENERATION_URI_TEMPLATE = `${GENERATION_SCHEME}{uuid}`;

/** Builds the resource URI of a generation. */
export function buildGenerationUri(generationId: string): string {
  return `${GENERATION_SCHEME}${generationId}`;
}

/** Parses a resource URI. @returns the generation's UUID in lower case, or null for any other URI. */
export function parseGenerationUri(uri: string): string | null {
  const uuid = uri.startsWith(GENERATION_SCHEME) ? uri.slice(GENERATION_SCHEME.length) : '';
  return isUuid(uuid) ? uuid.toLowerCase() : null;
}
