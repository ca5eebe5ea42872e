import { hash, randomBytes } from 'node:crypto';

/** Generates a random secret, in hex. */
export function randomHex(bytes: number): string {
  return randomBytes(bytes).toString('hex');
}

/** Computes a SHA-256. For the storage of secrets it is enough, because they are long and random. */
export function sha256(text: string): Buffer {
  return hash('sha256', text, 'buffer');
}
