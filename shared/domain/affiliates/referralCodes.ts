import { randomBytes } from 'node:crypto';

/** Without characters that are easily confused, and without vowels, so that codes do not form words. */
const CODE_ALPHABET = 'bcdfghjkmnpqrstvwxyz23456789';
const CODE_LENGTH = 12;

/** Generates a referral code of 12 characters, about 57 bits, which cannot be guessed. */
export function generateReferralCode(): string {
  const characters: string[] = [];
  // Bytes beyond the last full multiple are discarded, so that all characters are equally likely.
  const limit = 256 - (256 % CODE_ALPHABET.length);
  while (characters.length < CODE_LENGTH) {
    for (const byte of randomBytes(CODE_LENGTH * 2)) {
      if (byte < limit && characters.length < CODE_LENGTH)
        characters.push(CODE_ALPHABET[byte % CODE_ALPHABET.length] as string);
    }
  }
  return characters.join('');
}

/** Returns a typed or pasted code as it is stored; null if it is not a valid code. */
export function parseReferralCode(text: string): string | null {
  const code = text.toLowerCase();
  return /^[a-z0-9]{12}$/.test(code) ? code : null;
}
