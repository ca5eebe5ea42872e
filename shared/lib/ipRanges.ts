import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** Parses the address of a client, or returns null. IPv4 addresses in IPv6 form (`::ffff:192.0.2.7`) become IPv4. */
export function parseClientAddress(text: string): Address | null {
  // Some proxies add ports to `X-Forwarded-For`: 192.0.2.7:5678, [2001:db8::1]:5678.
  const [, withoutPort] = /^\[?([^\]]*?)\]?(?::\d+)?$/.exec(text) ?? [];
  const ip = isIP(text) === 0 && withoutPort !== undefined && isIP(withoutPort) !== 0 ? withoutPort : text;
  // Node appends the interface to link-local addresses (fe80::1%eth0), which the parser accepts for some names only.
  return isIP(ip) === 0 ? null : ipaddr.process(ip.replace(/%.*/, ''));
}

/** Forms of an address range, for error details: "must be ...". */
const IP_RANGE_FORM = 'an IP address (192.0.2.7) or a range in CIDR notation (192.0.2.0/24, 2001:db8::/32)';

/**
 * Parses an address or a range in CIDR notation.
 * @returns the range, always with its prefix length, or the problem with the text as the end of a sentence.
 */
export function parseIpRange(text: string): { range: string } | { problem: string } {
  const [, address = '', bits] = /^([^/%]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  if (isIP(address) === 0) return { problem: `must be ${IP_RANGE_FORM}` };
  const parsed = ipaddr.parse(address);
  const isMapped = 'parts' in parsed && parsed.isIPv4MappedAddress();
  const fullLength = 'parts' in parsed ? 128 : 32;
  const length = bits === undefined ? fullLength : Number(bits);
  if (length > fullLength) return { problem: `has a prefix of more than ${fullLength} bits` };
  // The 96 bits before an IPv4 address in IPv6 form.
  if (isMapped && length < 96) return { problem: 'must be written as IPv4' };
  const ip = ipaddr.process(address);
  const prefix = isMapped ? length - 96 : length;
  const network = ('parts' in ip ? ipaddr.IPv6 : ipaddr.IPv4).networkAddressFromCIDR(`${ip.toString()}/${prefix}`);
  if (network.toString() === ip.toString()) return { range: `${network.toString()}/${prefix}` };
  return { problem: `has bits after its prefix: write ${network.toString()}/${prefix}` };
}

/** Returns whether one of the ranges contains the address of a client. */
export function isInIpRanges(ranges: readonly string[], address: string): boolean {
  const parsed = parseClientAddress(address);
  if (parsed === null) return false;
  return ranges.some((range) => {
    const [network, length] = ipaddr.parseCIDR(range);
    return network.kind() === parsed.kind() && parsed.match(network, length);
  });
}

/** Shows a stored range as its owner writes it: a single address has no prefix length. */
export function formatIpRange(range: string): string {
  const [address, length] = range.split('/') as [string, string];
  return length === (address.includes(':') ? '128' : '32') ? address : range;
}
