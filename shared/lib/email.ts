/**
 * ASCII only, without blanks, quotes and brackets. Accounts are found by the address in lower case, and some other
 * letters have the same lower case: the Kelvin sign becomes a k, so two mailboxes would share one account.
 */
export const EMAIL_PATTERN = /^[!#-;=?A-~]{1,64}@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*$/;
export const EMAIL_MAX_CHARACTERS = 254;

/** Returns true if a text has the syntax of an e-mail address. */
export function isEmail(text: string): boolean {
  return text.length <= EMAIL_MAX_CHARACTERS && EMAIL_PATTERN.test(text);
}

/** A sender or recipient of e-mail. */
interface MailAddress {
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
