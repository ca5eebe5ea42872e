import { createHash, createHmac } from 'node:crypto';

/** A request to sign, with everything that the signature covers. */
export interface PresignInput {
  method: 'GET' | 'PUT';
  /** Address of the object, without a query. */
  url: URL;
  /** Headers that the request must carry with exactly these values, besides `host`. Names in lower case. */
  headers: Readonly<Record<string, string>>;
  expiresInSeconds: number;
  region: string;
  credentials: { accessKeyId: string; secretAccessKey: string; sessionToken?: string };
  at: Date;
}

const ALGORITHM = 'AWS4-HMAC-SHA256';

/**
 * Signs the address of an object with Signature Version 4 in the query, so that a client without keys may send this one
 * request until it expires. The SDK has no such function without one more package.
 */
export function presignS3Url({
  method,
  url,
  headers,
  expiresInSeconds,
  region,
  credentials,
  at,
}: PresignInput): string {
  const time = `${at.toISOString().slice(0, 19).replaceAll(/[-:]/g, '')}Z`;
  const day = time.slice(0, 8);
  const scope = `${day}/${region}/s3/aws4_request`;
  const signed = Object.entries({ ...headers, host: url.host }).toSorted(([a], [b]) => (a < b ? -1 : 1));
  const signedNames = signed.map(([name]) => name).join(';');
  const parameters: Record<string, string> = {
    'X-Amz-Algorithm': ALGORITHM,
    'X-Amz-Credential': `${credentials.accessKeyId}/${scope}`,
    'X-Amz-Date': time,
    'X-Amz-Expires': String(expiresInSeconds),
    ...(credentials.sessionToken === undefined ? {} : { 'X-Amz-Security-Token': credentials.sessionToken }),
    'X-Amz-SignedHeaders': signedNames,
  };
  const query = Object.entries(parameters)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => `${encodeRfc3986(name)}=${encodeRfc3986(value)}`)
    .join('&');
  const canonicalHeaders = signed.map(([name, value]) => `${name}:${value.trim()}\n`).join('');
  const request = [method, url.pathname, query, canonicalHeaders, signedNames, 'UNSIGNED-PAYLOAD'].join('\n');
  const digest = createHash('sha256').update(request).digest('hex');
  const key = [day, region, 's3', 'aws4_request'].reduce<string | Buffer>(hmac, `AWS4${credentials.secretAccessKey}`);
  const signature = hmac(key, [ALGORITHM, time, scope, digest].join('\n')).toString('hex');
  return `${url.origin}${url.pathname}?${query}&X-Amz-Signature=${signature}`;
}

/**
 * Returns the address of an object. A store with an endpoint of its own may not have a host name for every bucket, nor
 * does Amazon's certificate cover a bucket with dots in its name.
 * @param key without leading slash.
 */
export function buildObjectUrl(
  { bucket, endpoint, region }: { bucket: string; endpoint?: string; region: string },
  key: string,
): URL {
  const path = key.split('/').map(encodeRfc3986).join('/');
  if (endpoint !== undefined) return new URL(`${endpoint.replace(/\/+$/, '')}/${bucket}/${path}`);
  const host = `s3.${region}.amazonaws.com`;
  return new URL(bucket.includes('.') ? `https://${host}/${bucket}/${path}` : `https://${bucket}.${host}/${path}`);
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}

/** Encodes a text as the signature requires it: all characters except the unreserved ones. */
function encodeRfc3986(text: string): string {
  return encodeURIComponent(text).replaceAll(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
