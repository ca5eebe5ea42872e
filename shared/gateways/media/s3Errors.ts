import { StoreConfigError } from './mediaStore.ts';
import { RETRYABLE_STATUSES } from './retryableStatuses.ts';

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
export function explainS3Error(error: unknown, location: string): Error {
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
