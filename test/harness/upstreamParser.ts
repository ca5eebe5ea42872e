import { expect } from 'chai';
import { parseUpstreams } from '../../shared/gateways/upstreams/upstreamConfig.ts';
import { ConfigError, parseConfig } from '../../shared/lib/config.ts';

export type Env = Record<string, string>;

const SERVERS = { DATABASE_URL: 'postgres://user@host/name', REDIS_URL: 'redis://host:6379' };

/** Parses the upstreams of an environment. */
export const parseEnv = (env: Env) => parseUpstreams(parseConfig({ ...SERVERS, ...env }));

/** Returns the error message for an invalid environment. */
export function getEnvError(env: Env): string {
  try {
    parseEnv(env);
  } catch (error) {
    expect(error).to.be.instanceOf(ConfigError);
    return (error as Error).message;
  }
  return 'nothing';
}
