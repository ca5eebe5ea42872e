import { hash, randomBytes, randomInt } from 'node:crypto';

/** Generates a random secret, in hex. */
export function randomHex(bytes: number): string {
  return randomBytes(bytes).toString('hex');
}

/** Generates a random code. All characters of the alphabet are equally likely. */
export function randomCharacters(alphabet: string, length: number): string {
  return Array.from({ length }, () => alphabet[randomInt(alphabet.length)]).join('');
}

/** Computes a SHA-256. For the storage of secrets it is enough, because they are long and random. */
export function sha256(text: string): Buffer {
  return hash('sha256', text, 'buffer');
}
