const GENERATION_SCHEME = 'generation://';
const UUID_PATTERN = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** The generation resource's address, with its place for the uuid. */
export const GENERATION_URI_TEMPLATE = `${GENERATION_SCHEME}{uuid}`;

/** A generation as a resource. */
export function buildGenerationUri(generationId: string): string {
  return `${GENERATION_SCHEME}${generationId}`;
}

/** The generation that an address names, or null where it names none. */
export function parseGenerationUri(uri: string): string | null {
  const uuid = uri.startsWith(GENERATION_SCHEME) ? uri.slice(GENERATION_SCHEME.length) : '';
  return UUID_PATTERN.test(uuid) ? uuid.toLowerCase() : null;
}
