import { createHash, randomBytes } from 'node:crypto';

/** Generates a random secret, in hex. */
export function randomHex(bytes: number): string {
  return randomBytes(bytes).toString('hex');
}

/** Hashes a secret for storage. The secrets are long and random, so a single SHA-256 is enough. */
export function sha256(secret: string): Buffer {
  return createHash('sha256').update(secret).digest();
}
