import { isIP } from 'node:net';

/** Returns the network that an address is counted as: IPv4 as it is, IPv6 by its first 64 bits. */
export function networkPrefix(address: string): string {
  // Some proxies add ports to `X-Forwarded-For`: 192.0.2.7:5678, [2001:db8::1]:5678.
  const [, withPort] = /^\[?([^\]]*?)\]?(?::\d+)?$/.exec(address) ?? [];
  const ip = isIP(address) === 0 && withPort !== undefined && isIP(withPort) !== 0 ? withPort : address;
  if (isIP(ip) !== 6) return ip;
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(ip)?.[1];
  if (mapped !== undefined) return mapped;
  const [head = '', tail] = (ip.split('%')[0] as string).toLowerCase().split('::');
  const groups = head === '' ? [] : head.split(':');
  const last = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = tail === undefined ? 0 : 8 - groups.length - last.length;
  const all = [...groups, ...Array.from({ length: Math.max(0, zeros) }, () => '0'), ...last];
  return all
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':');
}
