import { isEmail } from './email.ts';

/** A sender or recipient of e-mail. */
export interface MailAddress {
  /** Name that mail programs show; null if there is none. */
  name: string | null;
  address: string;
}

/** Parses `name <address>` or an address alone. Returns null if it is neither. */
export function parseMailAddress(text: string): MailAddress | null {
  const match = /^([^<>]*)<([^<>]+)>$/.exec(text.trim());
  const name = (match?.[1] ?? '').trim().replaceAll(/^"|"$/g, '');
  const address = (match?.[2] ?? text).trim();
  return isEmail(address) ? { name: name === '' ? null : name, address } : null;
}
