const SCHEME = 'generation://';
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** The generation resource's address, with its place for the uuid. */
export const GENERATION_TEMPLATE = `${SCHEME}{uuid}`;

/** A generation as a resource. */
export function uriOf(generationId: string): string {
  return `${SCHEME}${generationId}`;
}

/** The generation that an address names, or null where it names none. */
export function generationIn(uri: string): string | null {
  const uuid = uri.startsWith(SCHEME) ? uri.slice(SCHEME.length) : '';
  return UUID.test(uuid) ? uuid.toLowerCase() : null;
}
