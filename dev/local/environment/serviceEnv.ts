/** Resources of a service that runs beside others on one machine. */
export interface ServiceResources {
  databaseUrl: string;
  redisUrl: string;
  /** Separates services that share one Redis. */
  redisPrefix: string;
  mediaDir: string;
}

/**
 * Variables of a service for chaos, bench and tests: its resources, no rate limits for requests from one machine, and
 * no request to the internet.
 */
export function buildServiceEnv({ databaseUrl, redisUrl, redisPrefix, mediaDir }: ServiceResources) {
  return {
    DATABASE_URL: databaseUrl,
    REDIS_URL: redisUrl,
    REDIS_PREFIX: redisPrefix,
    MEDIA_DIR: mediaDir,
    RATE_LIMITS: 'off',
    OAUTH_CLIENT_METADATA_DOCUMENTS: 'on',
  };
}
