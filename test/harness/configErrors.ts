import { parseConfig } from '../../shared/lib/config.ts';

/** The variables that have no default. */
export const GOOD = { DATABASE_URL: 'postgres://user@host/name', REDIS_URL: 'redis://host:6379' };

/**
 * Returns the message with which variables, in addition to the required ones, are rejected; empty if they are valid.
 */
export function getConfigError(env: Record<string, string | undefined>): string {
  try {
    parseConfig({ ...GOOD, ...env });
  } catch (error) {
    return (error as Error).message;
  }
  return '';
}
