import { type LookupAddress, lookup, Resolver } from 'node:dns';
import { BlockList, isIP } from 'node:net';
import type { LookupFunction } from 'node:net';

/**
 * Networks that requests to addresses of others must not reach: this machine, its neighbours, cloud metadata services.
 */
const PRIVATE_NETWORKS = new BlockList();
for (const [network, bits] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['168.63.129.16', 32],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 3],
] as const) {
  PRIVATE_NETWORKS.addSubnet(network, bits, 'ipv4');
}
for (const [network, bits] of [
  ['::', 96],
  ['::ffff:0:0:0', 96],
  ['64:ff9b::', 96],
  ['64:ff9b:1::', 48],
  ['100::', 64],
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
  ['5f00::', 16],
  ['fec0::', 10],
  ['fc00::', 7],
  ['fe80::', 10],
  ['ff00::', 8],
] as const) {
  PRIVATE_NETWORKS.addSubnet(network, bits, 'ipv6');
}

/** Returns true if an IP address is not public. IPv4 addresses written as IPv6 count as IPv4. */
export function isPrivateAddress(address: string): boolean {
  const [plain = ''] = address.split('%');
  return PRIVATE_NETWORKS.check(plain, isIP(plain) === 6 ? 'ipv6' : 'ipv4');
}

/**
 * Resolves a host name with the system's resolver and rejects private addresses. The check runs when the connection is
 * made, so that a name cannot be pointed elsewhere between check and use.
 */
export const lookupPublicAddress: LookupFunction = (hostname, options, callback) => {
  lookup(hostname, { ...options, all: true }, rejectPrivateAddresses(hostname, options, callback));
};

/**
 * Creates a lookup that resolves an untrusted host name with the name servers directly, and rejects private addresses.
 * The system's resolver would occupy one of the few threads of the process until it responds.
 */
export function createPublicLookup(resolver: Resolver): LookupFunction {
  return (hostname, options, callback) => {
    const answer = rejectPrivateAddresses(hostname, options, callback);
    resolver.resolve4(hostname, (error4, ipv4) => {
      if (error4 === null) return answer(null, ipv4.map(toIPv4));
      resolver.resolve6(hostname, (error6, ipv6) => answer(error6, error6 === null ? ipv6.map(toIPv6) : []));
    });
  };
}

/** Resolves an untrusted host name with a short timeout, and rejects private addresses. */
export const resolvePublicAddress = createPublicLookup(new Resolver({ timeout: 1_000, tries: 1 }));

const toIPv4 = (address: string): LookupAddress => ({ address, family: 4 });
const toIPv6 = (address: string): LookupAddress => ({ address, family: 6 });

type LookupCallback = Parameters<LookupFunction>[2];

function rejectPrivateAddresses(
  hostname: string,
  { all: isAll }: { all?: boolean | undefined },
  callback: LookupCallback,
) {
  return (error: NodeJS.ErrnoException | null, addresses: LookupAddress[] = []): void => {
    const privateAddress = addresses.find(({ address }) => isPrivateAddress(address));
    const first = addresses[0];
    if (error !== null) callback(error, '', 0);
    else if (privateAddress !== undefined || first === undefined) {
      callback(Object.assign(new Error(`${hostname} is not a public address`), { code: 'EPRIVATE' }), '', 0);
    } else if (isAll === true) callback(null, addresses);
    else callback(null, first.address, first.family);
  };
}
