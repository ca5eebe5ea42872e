/** Where mail to an address arrives: many take anything after a plus as the same mailbox. */
export function normalizeEmail(email: string): string {
  const at = email.lastIndexOf('@');
  const [name, host] = [email.slice(0, at).toLowerCase(), email.slice(at + 1).toLowerCase()];
  const plain = name.split('+')[0] as string;
  const isGoogle = host === 'gmail.com' || host === 'googlemail.com';
  return isGoogle ? `${plain.replaceAll('.', '')}@gmail.com` : `${plain}@${host}`;
}
