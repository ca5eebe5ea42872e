import { expect } from 'chai';

export type Env = Record<string, string>;

const SERVERS = { DATABASE_URL: 'postgres://user@host/name', REDIS_URL: 'redis://host:6379' };

export type UpstreamParser = Awaited<ReturnType<typeof loadUpstreamParser>>;

/** Loads the configuration modules, and parses the upstreams of an environment. */
export async function loadUpstreamParser() {
  const { ConfigError, parseConfig } = await import('../../shared/lib/config.ts');
  const settings = await import('../../shared/gateways/upstreams/upstreamConfig.ts');
  const parse = (env: Env) => settings.parseUpstreams(parseConfig({ ...SERVERS, ...env }));

  /** Returns the error message for an invalid environment. */
  function getError(env: Env): string {
    try {
      parse(env);
    } catch (error) {
      expect(error).to.be.instanceOf(ConfigError);
      return (error as Error).message;
    }
    return 'nothing';
  }

  return { settings, parse, getError };
}
