import { expect } from 'chai';
import { parseRedisAddress } from '../../shared/lib/redisAddress.ts';

describe('REDIS_URL', () => {
  it('describes a single server, with and without TLS', () => {
    for (const url of ['redis://host', 'redis://user:pass@host:6379/2', 'redis://host?family=6']) {
      expect(parseRedisAddress(url)).to.deep.equal({ kind: 'single', url, isTls: false });
    }
    expect(parseRedisAddress('rediss://host:6380').isTls).to.equal(true);
  });

  it('describes the Sentinels of a master, with separate credentials for both', () => {
    expect(parseRedisAddress('redis+sentinel://a:1,b/main')).to.deep.equal({
      kind: 'sentinel',
      isTls: false,
      sentinels: [
        { host: 'a', port: 1 },
        { host: 'b', port: 26_379 },
      ],
      name: 'main',
      db: 0,
      credentials: {},
      sentinelCredentials: {},
    });
    const query = 'sentinelUsername=watch&sentinelPassword=p%26q';
    expect(parseRedisAddress(`rediss+sentinel://user:p%40ss@[::1]:5,c.d/my%20main/3?${query}`)).to.deep.equal({
      kind: 'sentinel',
      isTls: true,
      sentinels: [
        { host: '::1', port: 5 },
        { host: 'c.d', port: 26_379 },
      ],
      name: 'my main',
      db: 3,
      credentials: { username: 'user', password: 'p@ss' },
      sentinelCredentials: { username: 'watch', password: 'p&q' },
    });
  });

  it('describes the nodes of a Cluster', () => {
    const nodes = [
      { host: 'a', port: 7_000 },
      { host: 'b', port: 6_379 },
    ];
    const credentials = { password: 'secret' };
    for (const end of ['', '/', '/0']) {
      expect(parseRedisAddress(`rediss+cluster://:secret@a:7000,b${end}`)).to.deep.equal({
        kind: 'cluster',
        isTls: true,
        nodes,
        credentials,
      });
    }
  });

  for (const [url, problem] of [
    ['http://host', /must be an address such as redis:/],
    ['redis+other://host', /must be an address such as redis:/],
    ['redis://', /must have a host and a valid port/],
    ['redis://host:99999', /must have a host and a valid port/],
    ['redis://host/name', /must have a number as its database/],
    ['redis+sentinel://a,b', /must end with the name of the master/],
    ['redis+sentinel://a,b/', /must end with the name of the master/],
    ['redis+sentinel://a/main/x', /must have a number as its database/],
    ['redis+sentinel://a/main/0/1', /must have a number as its database/],
    ['redis+sentinel://a/main?password=secret', /has the unknown parameter password/],
    ['redis+sentinel://a:0/main', /must list its servers as host:port/],
    ['redis+cluster://', /must be user:password@host:port/],
    ['redis+cluster://a,,b', /must list its servers as host:port/],
    ['redis+cluster://a:70000', /must list its servers as host:port/],
    ['redis+cluster://a b', /must list its servers as host:port/],
    ['redis+cluster://a/1', /has only database 0/],
    ['redis+cluster://user:se@cret@a', /percent-encoded/],
    ['redis+cluster://user:%secret@a', /percent-encoded/],
    ['redis://:%secret@a:6379', /percent-encoded/],
    ['redis+cluster://a?sentinelPassword=secret', /unknown parameter sentinelPassword/],
  ] as const) {
    it(`rejects ${url} with a sentence that names the variable and repeats no password`, () => {
      const parse = parseRedisAddress.bind(undefined, url);
      expect(parse).to.throw(problem);
      expect(parse).to.throw(/^REDIS_URL .+\.$/);
      expect(parse).to.not.throw(/cret/);
    });
  }
});
