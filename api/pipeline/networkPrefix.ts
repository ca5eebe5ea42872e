import { parseClientAddress } from '../../shared/lib/ipRanges.ts';

/** Returns the network that an address is counted as: IPv4 as it is, IPv6 by its first 64 bits. */
export function networkPrefix(address: string): string {
  const parsed = parseClientAddress(address);
  if (parsed === null) return address;
  return 'parts' in parsed ? joinGroups(parsed.parts.slice(0, 4)) : parsed.toString();
}

/** Returns the first 48 bits of an IPv6 address, which one customer of a provider can have; null for others. */
export function sitePrefix(address: string): string | null {
  const parsed = parseClientAddress(address);
  return parsed !== null && 'parts' in parsed ? joinGroups(parsed.parts.slice(0, 3)) : null;
}

const joinGroups = (groups: readonly number[]) => groups.map((group) => group.toString(16)).join(':');
