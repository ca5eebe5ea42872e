/** Cache lifetime of documents and files whose address does not contain a version. */
export const DOCS_CACHE_CONTROL = 'public, max-age=300';

let buildText: (() => string) | undefined;

/**
 * Sets how the text of the served OpenAPI document is built. It describes all features, one of which serves it, so that
 * feature cannot import the builder.
 */
export function setDocumentText(build: () => string): void {
  buildText = build;
}

/** Returns the text of the served OpenAPI document. */
export function getDocumentText(): string {
  if (buildText === undefined) throw new Error('The router has not set the text of the OpenAPI document.');
  return buildText();
}
