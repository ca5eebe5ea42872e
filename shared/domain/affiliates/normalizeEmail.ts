/** Returns the mailbox that an address delivers to: many providers ignore a plus and everything after it. */
export function normalizeEmail(email: string): string {
  const at = email.lastIndexOf('@');
  const [name, host] = [email.slice(0, at).toLowerCase(), email.slice(at + 1).toLowerCase()];
  const plain = name.split('+')[0] as string;
  const isGoogle = host === 'gmail.com' || host === 'googlemail.com';
  return isGoogle ? `${plain.replaceAll('.', '')}@gmail.com` : `${plain}@${host}`;
}
