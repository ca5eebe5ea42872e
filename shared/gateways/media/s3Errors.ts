import { StoreConfigError } from './mediaStore.ts';

/** What the errors of the SDK, of the network and of Node have in common. */
interface S3SdkError extends Error {
  code?: string;
  $metadata?: { httpStatusCode?: number };
}

/** What to do about it, by the store's name for what it does not like. */
const REMEDIES: Record<string, string> = {
  NoSuchBucket: 'there is no such bucket',
  AccessDenied: 'access denied; the key needs the rights to list the bucket and to put and delete objects in it',
  InvalidAccessKeyId: 'the store does not know this MEDIA_S3_ACCESS_KEY_ID',
  SignatureDoesNotMatch: 'MEDIA_S3_SECRET_ACCESS_KEY does not fit MEDIA_S3_ACCESS_KEY_ID',
  PermanentRedirect: 'the bucket is in another region than MEDIA_S3_REGION',
  AuthorizationHeaderMalformed: 'the bucket is in another region than MEDIA_S3_REGION',
  IllegalLocationConstraintException: 'the bucket is in another region than MEDIA_S3_REGION',
  CredentialsProviderError: 'no credentials; set MEDIA_S3_ACCESS_KEY_ID and MEDIA_S3_SECRET_ACCESS_KEY',
};

/** What the SDK says of an answer that says nothing itself, or not in S3's way. */
const UNKNOWN_ERROR_MESSAGE = 'UnknownError';

/** Those of the answers that refuse a request which may be taken later. */
const RETRYABLE_STATUSES = [408, 425, 429];

/**
 * Says what went wrong with a request to a bucket, for whoever runs the service.
 * @returns an UnusableStore where trying again would not help, else another Error.
 */
export function explainS3Error(error: unknown, location: string): Error {
  const { name, message, code, $metadata } = error as S3SdkError;
  const status = $metadata?.httpStatusCode;
  const remedy = REMEDIES[name];
  if (status === undefined) {
    if (remedy !== undefined) return new StoreConfigError(remedy, { cause: error });
    const isTimeout = name === 'AbortError' || (name === 'TimeoutError' && code === undefined);
    const [reason] = isTimeout ? ['it does not answer in time'] : (message || code || name).split('\n');
    return new Error(`${location} cannot be reached: ${reason}`, { cause: error });
  }
  if (status >= 300 && status < 500 && !RETRYABLE_STATUSES.includes(status)) {
    const advice = remedy ?? (message === UNKNOWN_ERROR_MESSAGE ? 'is that the address of an S3 store?' : message);
    return new StoreConfigError(`${location} answered ${status} ${name}: ${advice}`, { cause: error });
  }
  return new Error(`${location} answered ${status}${message === UNKNOWN_ERROR_MESSAGE ? '' : ` ${name}: ${message}`}`, {
    cause: error,
  });
}
