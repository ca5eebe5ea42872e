/** Optional parts of the protocol that a client has declared and the service uses. */
export interface ClientFeatures {
  /** The client shows addresses of the service to its user (MCP 2025-11-25: Elicitation, URL mode). */
  elicitsUrls: boolean;
}

export const NO_CLIENT_FEATURES: ClientFeatures = { elicitsUrls: false };

/** Reads the features from the capabilities that a client declared, which may be invalid. */
export function readClientFeatures(capabilities: unknown): ClientFeatures {
  const { elicitation } = toObject(capabilities);
  // An empty `elicitation` means forms only.
  return { elicitsUrls: isObject(toObject(elicitation)['url']) };
}

/** Reads the features from the metadata of a stateless request. */
export function readStatelessFeatures(params: unknown): ClientFeatures {
  return readClientFeatures(toObject(toObject(params)['_meta'])['io.modelcontextprotocol/clientCapabilities']);
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;
const toObject = (value: unknown): Record<string, unknown> => (isObject(value) ? value : {});
