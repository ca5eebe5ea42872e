import { randomBytes } from 'node:crypto';

/** No characters that are taken for others, nor vowels, so that no words come of it. */
const CODE_ALPHABET = 'bcdfghjkmnpqrstvwxyz23456789';
const CODE_LENGTH = 12;

/** A referral code: 12 characters, some 57 bits, so that nobody finds others' by trying. */
export function generateReferralCode(): string {
  const characters: string[] = [];
  // What does not fit evenly is thrown away, so that all characters are equally likely.
  const limit = 256 - (256 % CODE_ALPHABET.length);
  while (characters.length < CODE_LENGTH) {
    for (const byte of randomBytes(CODE_LENGTH * 2)) {
      if (byte < limit && characters.length < CODE_LENGTH)
        characters.push(CODE_ALPHABET[byte % CODE_ALPHABET.length] as string);
    }
  }
  return characters.join('');
}

/** What was typed or pasted as a code, as codes are kept; null where it cannot be one. */
export function parseReferralCode(text: string): string | null {
  const code = text.toLowerCase();
  return /^[a-z0-9]{12}$/.test(code) ? code : null;
}
