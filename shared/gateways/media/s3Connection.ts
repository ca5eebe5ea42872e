import type { S3Client } from '@aws-sdk/client-s3';
import { explainS3Error } from './s3Errors.ts';

export interface S3Options {
  bucket: string;
  /** Of a store that is not Amazon's. */
  endpoint?: string;
  region: string;
  /** Without keys, those of the environment or of the machine's role are used. */
  accessKeyId?: string;
  secretAccessKey?: string;
  /** Before every key, without slashes at its ends; may be empty. */
  prefix: string;
}

export const S3_LIMITS = {
  connectMs: 5_000,
  /** How long nothing may move on a connection: also how long the store may take to answer a finished upload. */
  idleMs: 30_000,
  /** Of a request without a file, with its repetitions. */
  requestMs: 15_000,
  /** Of an upload with its repetitions, and what it gets in addition for its size. */
  uploadMs: 90_000,
  minBytesPerMs: 1_000,
  /** How long a process that starts waits for the store. */
  probeMs: 10_000,
  attempts: 3,
};
export type S3Limits = typeof S3_LIMITS;

/** Whoever catches its errors says so; it would say more than that, on the console. */
const SILENT_LOGGER = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

type Sdk = typeof import('@aws-sdk/client-s3');

/** A bucket, and how to talk to it. */
export interface S3Connection {
  client: S3Client;
  sdk: Sdk;
  limits: S3Limits;
  bucket: string;
  toKey: (path: string) => string;
  /** Gives what goes wrong with a request a message that says what to do about it. */
  withExplainedErrors: <Result>(request: Promise<Result>) => Promise<Result>;
}

/** Loads the SDK, which takes 25 MB of memory. Nothing is sent yet. */
export async function connectS3(options: S3Options, limits: S3Limits): Promise<S3Connection> {
  const { bucket, endpoint, region, accessKeyId, secretAccessKey, prefix } = options;
  const sdk = await import('@aws-sdk/client-s3');
  const hasKeys = accessKeyId !== undefined && secretAccessKey !== undefined;
  // How many at a time is the callers' business.
  const agent = { keepAlive: true, maxSockets: Number.POSITIVE_INFINITY };
  const client = new sdk.S3Client({
    region,
    endpoint,
    // Other stores than Amazon's need not have a host name for every bucket.
    forcePathStyle: endpoint !== undefined,
    credentials: hasKeys ? { accessKeyId, secretAccessKey } : undefined,
    maxAttempts: limits.attempts,
    // What other stores do not know, or answer late.
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
