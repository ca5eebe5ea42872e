import { createHash, randomBytes } from 'node:crypto';

/** A fresh secret of so many bytes, in hex. */
export function randomHex(bytes: number): string {
  return randomBytes(bytes).toString('hex');
}

/** What is stored in the place of a secret. Our secrets are long and random, so that one SHA-256 is enough. */
export function sha256(secret: string): Buffer {
  return createHash('sha256').update(secret).digest();
}
