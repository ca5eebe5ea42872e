import type { S3Client } from '@aws-sdk/client-s3';
import { StoreConfigError } from './mediaStore.ts';
import { RETRYABLE_STATUSES } from './retryableStatuses.ts';

export interface S3Options {
  bucket: string;
  /** Address of an S3 store other than Amazon's. */
  endpoint?: string;
  region: string;
  /** Without keys, the credentials of the environment or of the machine's role are used. */
  accessKeyId?: string;
  secretAccessKey?: string;
  /** Prefix of every object key, without slashes at its ends. May be empty. */
  prefix: string;
}

export const S3_LIMITS = {
  connectMs: 5_000,
  /** Limit for inactivity on a connection, including the response to a finished upload. */
  idleMs: 30_000,
  /** Limit for a request that sends no file, including retries, without the content of a file that it reads. */
  requestMs: 15_000,
  /** Limit for an upload, including retries. The time for its size is added to it. */
  uploadMs: 90_000,
  minBytesPerMs: 1_000,
  /** Limit for the check at the start of a process. */
  probeMs: 10_000,
  attempts: 3,
};
export type S3Limits = typeof S3_LIMITS;

/** Silences the SDK, which logs to the console. Callers log its errors. */
const SILENT_LOGGER = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

type Sdk = typeof import('@aws-sdk/client-s3');

/** A client for one bucket. */
export interface S3Connection {
  client: S3Client;
  sdk: Sdk;
  limits: S3Limits;
  bucket: string;
  toKey: (path: string) => string;
  /** Replaces the error of a request by one whose message says what to do. */
  withExplainedErrors: <Result>(request: Promise<Result>) => Promise<Result>;
}

/** Loads the SDK, which takes 25 MB of memory. Nothing is sent yet. */
export async function connectS3(options: S3Options, limits: S3Limits): Promise<S3Connection> {
  const { bucket, endpoint, region, accessKeyId, secretAccessKey, prefix } = options;
  const sdk = await import('@aws-sdk/client-s3');
  const hasKeys = accessKeyId !== undefined && secretAccessKey !== undefined;
  // Callers bound the concurrency.
  const agent = { keepAlive: true, maxSockets: Number.POSITIVE_INFINITY };
  const client = new sdk.S3Client({
    region,
    endpoint,
    // Stores other than Amazon's may not have a host name for every bucket.
    forcePathStyle: endpoint !== undefined,
    credentials: hasKeys ? { accessKeyId, secretAccessKey } : undefined,
    maxAttempts: limits.attempts,
    // Other stores do not support checksums, or respond to `expect: 100-continue` late.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    expectContinueHeader: false,
    logger: SILENT_LOGGER,
    requestHandler: {
      connectionTimeout: limits.connectMs,
      socketTimeout: limits.idleMs,
      httpAgent: agent,
      httpsAgent: agent,
    },
  });
  const location = `bucket ${bucket}${endpoint === undefined ? '' : ` at ${endpoint}`}`;
  return {
    client,
    sdk,
    limits,
    bucket,
    toKey: (path) => (prefix === '' ? path : `${prefix}/${path}`),
    withExplainedErrors: (request) =>
      request.catch((error: unknown) => {
        throw explainS3Error(error, location);
      }),
  };
}

/** Fields that errors of the SDK, of the network and of Node have in common. */
interface S3SdkError extends Error {
  code?: string;
  $metadata?: { httpStatusCode?: number };
}

/** Explanations by error name of the store. */
const REMEDIES: Record<string, string> = {
  NoSuchBucket: 'the bucket does not exist',
  AccessDenied: 'access denied; the key needs permission to list the bucket and to put and delete objects in it',
  InvalidAccessKeyId: 'MEDIA_S3_ACCESS_KEY_ID is unknown to the store',
  SignatureDoesNotMatch: 'MEDIA_S3_SECRET_ACCESS_KEY does not match MEDIA_S3_ACCESS_KEY_ID',
  PermanentRedirect: 'the bucket is in another region than MEDIA_S3_REGION',
  AuthorizationHeaderMalformed: 'the bucket is in another region than MEDIA_S3_REGION',
  IllegalLocationConstraintException: 'the bucket is in another region than MEDIA_S3_REGION',
  CredentialsProviderError: 'no credentials; set MEDIA_S3_ACCESS_KEY_ID and MEDIA_S3_SECRET_ACCESS_KEY',
};

/** Message of the SDK for a response without a message in S3's format. */
const UNKNOWN_ERROR_MESSAGE = 'UnknownError';

/** Part of the message of the SDK for a response that is not XML, such as one of a proxy before the store. */
const NOT_XML = '@aws-sdk XML parse error';

/**
 * Explains the error of a request to a bucket, for operators.
 * @returns a StoreConfigError if a retry would not help, otherwise a plain Error.
 */
function explainS3Error(error: unknown, location: string): Error {
  const { name, message: original, code, $metadata } = error as S3SdkError;
  const message = original.includes(NOT_XML)
    ? 'the response is not one of an S3 store; a proxy may have sent it'
    : original;
  const status = $metadata?.httpStatusCode;
  const remedy = REMEDIES[name];
  if (status === undefined) {
    if (remedy !== undefined) return new StoreConfigError(remedy, { cause: error });
    const isTimeout = name === 'AbortError' || (name === 'TimeoutError' && code === undefined);
    const [reason] = isTimeout ? ['it does not respond in time'] : (message || code || name).split('\n');
    return new Error(`${location} cannot be reached: ${reason}`, { cause: error });
  }
  if (status >= 300 && status < 500 && !RETRYABLE_STATUSES.includes(status)) {
    const advice =
      remedy ?? (message === UNKNOWN_ERROR_MESSAGE ? 'check that this is the address of an S3 store' : message);
    return new StoreConfigError(`${location} responded with ${status} ${name}: ${advice}`, { cause: error });
  }
  return new Error(
    `${location} responded with ${status}${message === UNKNOWN_ERROR_MESSAGE ? '' : ` ${name}: ${message}`}`,
    {
      cause: error,
    },
  );
}
