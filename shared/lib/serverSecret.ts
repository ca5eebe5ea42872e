import { type Config, config } from './config.ts';

/** Returns a secret that is not in the database. What was derived from it before it changes can no longer be derived. */
export function getServerSecret(): string {
  return findServerSecret(config);
}

/** Returns false if the database has no password and SECRET_KEY is not set: what is derived then can be guessed. */
export function hasServerSecret(settings: Pick<Config, 'SECRET_KEY' | 'DATABASE_URL'>): boolean {
  return findServerSecret(settings) !== '';
}

function findServerSecret({ SECRET_KEY, DATABASE_URL }: Pick<Config, 'SECRET_KEY' | 'DATABASE_URL'>): string {
  return SECRET_KEY ?? new URL(DATABASE_URL).password;
}
