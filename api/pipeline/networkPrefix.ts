import { parseClientAddress } from '../../shared/lib/ipRanges.ts';

/** Returns the network that an address is counted as: IPv4 as it is, IPv6 by its first 64 bits. */
export function networkPrefix(address: string): string {
  const parsed = parseClientAddress(address);
  if (parsed === null) return address;
  if (!('parts' in parsed)) return parsed.toString();
  return parsed.parts
    .slice(0, 4)
    .map((group) => group.toString(16))
    .join(':');
}
