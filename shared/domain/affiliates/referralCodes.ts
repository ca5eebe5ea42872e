import { randomCharacters } from '../../lib/secrets.ts';

/** Without characters that are easily confused, and without vowels, so that codes do not form words. */
const CODE_ALPHABET = 'bcdfghjkmnpqrstvwxyz23456789';
const CODE_LENGTH = 12;

/** Generates a referral code of 12 characters, about 57 bits, which cannot be guessed. */
export function generateReferralCode(): string {
  return randomCharacters(CODE_ALPHABET, CODE_LENGTH);
}

/** Returns a typed or pasted code as it is stored; null if it is not a valid code. */
export function parseReferralCode(text: string): string | null {
  const code = text.toLowerCase();
  return /^[a-z0-9]{12}$/.test(code) ? code : null;
}
