import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/** Returns the network that an address is counted as: IPv4 as it is, IPv6 by its first 64 bits. */
export function networkPrefix(address: string): string {
  // Some proxies add ports to `X-Forwarded-For`: 192.0.2.7:5678, [2001:db8::1]:5678.
  const [, withoutPort] = /^\[?([^\]]*?)\]?(?::\d+)?$/.exec(address) ?? [];
  const ip = isIP(address) === 0 && withoutPort !== undefined && isIP(withoutPort) !== 0 ? withoutPort : address;
  if (isIP(ip) !== 6) return ip;
  // Node appends the interface to link-local addresses (fe80::1%eth0), which the parser accepts for some names only.
  const parsed = ipaddr.IPv6.parse(ip.replace(/%.*/, ''));
  if (parsed.isIPv4MappedAddress()) return parsed.toIPv4Address().toString();
  return parsed.parts
    .slice(0, 4)
    .map((group) => group.toString(16))
    .join(':');
}
