import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto';
import { config } from './config.ts';

const IV_BYTES = 12;
const TAG_BYTES = 16;

/** Encrypts a text with AES-256-GCM: the initialization vector, the authentication tag, and the encrypted text. */
export function encryptText(key: Buffer, text: string): Buffer {
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv('aes-256-gcm', key, iv);
  const encrypted = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
  return Buffer.concat([iv, cipher.getAuthTag(), encrypted]);
}

/** Decrypts what {@link encryptText} returned. Throws if the key is another one or the data was changed. */
export function decryptText(key: Buffer, encrypted: Buffer): string {
  const decipher = createDecipheriv('aes-256-gcm', key, encrypted.subarray(0, IV_BYTES), { authTagLength: TAG_BYTES });
  decipher.setAuthTag(encrypted.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
  return Buffer.concat([decipher.update(encrypted.subarray(IV_BYTES + TAG_BYTES)), decipher.final()]).toString('utf8');
}

/** Derives a key of 32 bytes from a secret, for one purpose. */
export function deriveKey(secret: string, purpose: string): Buffer {
  return createHmac('sha256', secret).update(purpose).digest();
}

/** Begins every sealed text. Others are stored plainly. */
const SEALED_PREFIX = 'sealed:v1:';

/** Error for a sealed text that SECRET_KEY cannot open: it was sealed with another one, or belongs to another row. */
export class UnreadableSecretError extends Error {}

/**
 * Encrypts a secret for the database under SECRET_KEY, so that a copy of the database is not enough to read it. Without
 * SECRET_KEY the text is stored as it is.
 * @param purpose what the secret is and the row that it belongs to. It opens for the same purpose only.
 */
export function sealSecret(text: string, purpose: string): string {
  if (config.SECRET_KEY === undefined) return text;
  return SEALED_PREFIX + encryptText(deriveKey(config.SECRET_KEY, `sealed ${purpose}`), text).toString('base64');
}

/**
 * Returns the secret that {@link sealSecret} was called with.
 * @throws UnreadableSecretError
 */
export function openSecret(stored: string, purpose: string): string {
  if (!stored.startsWith(SEALED_PREFIX)) return stored;
  if (config.SECRET_KEY === undefined) throw new UnreadableSecretError('SECRET_KEY is not set.');
  try {
    const encrypted = Buffer.from(stored.slice(SEALED_PREFIX.length), 'base64');
    return decryptText(deriveKey(config.SECRET_KEY, `sealed ${purpose}`), encrypted);
  } catch {
    throw new UnreadableSecretError('SECRET_KEY is not the one that the secret was sealed with.');
  }
}
