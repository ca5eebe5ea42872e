import { canParseUrl } from './canParseUrl.ts';

/** A host and port of a Redis server or Sentinel. */
export interface RedisNode {
  host: string;
  port: number;
}

interface Credentials {
  username?: string;
  password?: string;
}

/** Result of parsing REDIS_URL: one server, a master that Sentinels know, or a Redis Cluster. */
export type RedisAddress =
  | { kind: 'single'; url: string; isTls: boolean }
  | {
      kind: 'sentinel';
      isTls: boolean;
      sentinels: RedisNode[];
      /** Name by which the Sentinels know the master. */
      name: string;
      db: number;
      credentials: Credentials;
      sentinelCredentials: Credentials;
    }
  | { kind: 'cluster'; isTls: boolean; nodes: RedisNode[]; credentials: Credentials };

const SCHEME = /^(rediss?)(?:\+(sentinel|cluster))?:\/\/(.*)$/;
/** User information, hosts, path and query. A password with one of these separators must be percent-encoded. */
const PARTS = /^(?:([^@/?#]*)@)?([^@/?#]+)(?:\/([^?#]*))?(?:\?([^#]*))?$/;
const NODE = /^(\[[0-9a-f:.]+\]|[\w.-]+)(?::(\d{1,5}))?$/i;
const SENTINEL_PARAMETERS = ['sentinelUsername', 'sentinelPassword'];

/**
 * Parses REDIS_URL.
 * @throws Error with a sentence that names the variable, and never repeats the address: it may contain a password.
 */
export function parseRedisAddress(url: string): RedisAddress {
  const [, scheme, kind, rest = ''] = SCHEME.exec(url) ?? [];
  if (scheme === undefined) throw new Error(`REDIS_URL must be ${REDIS_URL_DESCRIPTION}.`);
  const isTls = scheme === 'rediss';
  if (kind === undefined) return parseSingle(url, isTls);
  const parts = PARTS.exec(rest);
  if (parts === null) {
    throw new Error(
      'REDIS_URL must be user:password@host:port,host:port after its scheme, with @ / ? # in the password percent-encoded.',
    );
  }
  const [, userInfo = '', hosts = '', path = '', query = ''] = parts;
  const credentials = parseCredentials(userInfo);
  const parameters = new URLSearchParams(query);
  const unknown = [...parameters.keys()].filter((key) => kind === 'cluster' || !SENTINEL_PARAMETERS.includes(key));
  if (unknown.length > 0) throw new Error(`REDIS_URL has the unknown parameter ${unknown[0]}.`);
  if (kind === 'cluster') {
    if (!/^0?$/.test(path)) throw new Error('REDIS_URL must not name a database: a Redis Cluster has only database 0.');
    return { kind, isTls, nodes: parseNodes(hosts, 6_379), credentials };
  }
  const [name = '', db = '0', ...more] = path.split('/');
  if (name === '') {
    throw new Error('REDIS_URL must end with the name of the master, such as redis+sentinel://host:26379/mymaster.');
  }
  if (!/^\d+$/.test(db) || more.length > 0) throw new Error('REDIS_URL must have a number as its database.');
  return {
    kind: 'sentinel',
    isTls,
    sentinels: parseNodes(hosts, 26_379),
    name: decode(name),
    db: Number(db),
    credentials,
    sentinelCredentials: toCredentials(parameters.get('sentinelUsername'), parameters.get('sentinelPassword')),
  };
}

/** The forms of REDIS_URL, for messages. */
export const REDIS_URL_DESCRIPTION =
  'an address such as redis://host:6379, redis+sentinel://host:26379,host:26379/master or redis+cluster://host:6379,host:6379';

/** ioredis parses the address of a single server itself. */
function parseSingle(url: string, isTls: boolean): RedisAddress {
  const parsed = canParseUrl(url) ? new URL(url) : undefined;
  if (parsed === undefined || parsed.hostname === '')
    throw new Error('REDIS_URL must have a host and a valid port, such as redis://host:6379.');
  decode(parsed.username);
  decode(parsed.password);
  if (!/^\/?\d*$/.test(parsed.pathname)) throw new Error('REDIS_URL must have a number as its database.');
  return { kind: 'single', url, isTls };
}

function parseNodes(hosts: string, defaultPort: number): RedisNode[] {
  return hosts.split(',').map((text) => {
    const [, host, digits] = NODE.exec(text) ?? [];
    const port = digits === undefined ? defaultPort : Number(digits);
    if (host === undefined || port < 1 || port > 65_535)
      throw new Error('REDIS_URL must list its servers as host:port, with commas between them.');
    return { host: host.replace(/^\[(.*)\]$/, '$1'), port };
  });
}

function parseCredentials(userInfo: string): Credentials {
  const [username = '', ...password] = userInfo.split(':');
  return toCredentials(decode(username), decode(password.join(':')));
}

function toCredentials(username: string | null, password: string | null): Credentials {
  return { ...(username ? { username } : {}), ...(password ? { password } : {}) };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new Error('REDIS_URL must have its user, password and name percent-encoded.');
  }
}
