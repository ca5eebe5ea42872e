import type { S3Client } from '@aws-sdk/client-s3';
import { explainS3Error } from './s3Errors.ts';

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
  /** Limit for a request without a file, including retries. */
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
