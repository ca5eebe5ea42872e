import { APPS_EXTENSION, APP_MIME_TYPE } from './apps/generationView.ts';

/** Optional features that a client declares. Clients without any get the answers of the base protocol. */
export const CLIENT_FEATURES = ['apps'] as const;
export type ClientFeature = (typeof CLIENT_FEATURES)[number];
export type ClientFeatures = ReadonlySet<ClientFeature>;

export const NO_CLIENT_FEATURES: ClientFeatures = new Set();

/** Field of `_meta` with the client's capabilities, in each request of the stateless version. */
const CAPABILITIES_FIELD = 'io.modelcontextprotocol/clientCapabilities';

interface ClientCapabilities {
  extensions?: Record<string, { mimeTypes?: unknown } | undefined>;
}

/** Reads the features from the params of `initialize`, or from those of a stateless request. Both are unvalidated. */
export function parseClientFeatures(params: unknown): ClientFeatures {
  const { capabilities, _meta: meta } = (params ?? {}) as {
    capabilities?: ClientCapabilities;
    _meta?: Record<string, ClientCapabilities | undefined>;
  };
  const declared = capabilities ?? meta?.[CAPABILITIES_FIELD];
  const mimeTypes = declared?.extensions?.[APPS_EXTENSION]?.mimeTypes;
  return Array.isArray(mimeTypes) && mimeTypes.includes(APP_MIME_TYPE) ? new Set(['apps']) : NO_CLIENT_FEATURES;
}
