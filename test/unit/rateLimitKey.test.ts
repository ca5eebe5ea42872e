import { expect } from 'chai';
import { networkPrefix } from '../../api/pipeline/networkPrefix.ts';

describe('the network prefix of an address', () => {
  for (const [address, network] of [
    ['192.0.2.7', '192.0.2.7'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
    ['2001:db8:1:2::9', '2001:db8:1:2'],
    ['2001:DB8:0001:0002:ffff::1', '2001:db8:1:2'],
    ['2001:db8::1', '2001:db8:0:0'],
    ['fe80::1%eth0', 'fe80:0:0:0'],
    ['fe80::1%br-1a2b', 'fe80:0:0:0'],
    ['::1', '0:0:0:0'],
    ['nonsense', 'nonsense'],
    ['192.0.2.7:5678', '192.0.2.7'],
    ['[2001:db8:1:2::9]:5678', '2001:db8:1:2'],
    ['[2001:db8:1:2::9]', '2001:db8:1:2'],
    ['::ffff:192.0.2.7:5678', '192.0.2.7'],
  ]) {
    it(`${address} is ${network}`, () => {
      expect(networkPrefix(address as string)).to.equal(network);
    });
  }
});
