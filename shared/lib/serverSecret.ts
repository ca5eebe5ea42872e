import { config } from './config.ts';

/** Returns a secret that is not in the database. What was derived from it before it changes can no longer be derived. */
export function getServerSecret(): string {
  return config.SECRET_KEY ?? new URL(config.DATABASE_URL).password;
}
