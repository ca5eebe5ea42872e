import type { KeyObject } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

/** Keys with which an upstream signs: public keys, or secrets. */
export type VerificationKeys = readonly (KeyObject | Buffer)[];

/** A received call-back. Header names are in lower case. */
export interface CallbackRequest {
  headers: IncomingHttpHeaders;
  body: Buffer;
}

/** The parts of a protocol that concern call-backs. */
export interface CallbackProtocol {
  /** Returns the time of the signature in seconds; undefined if a header is missing or malformed. */
  readTimestamp(headers: IncomingHttpHeaders): number | undefined;
  /** Returns true if the signature is that of one of the keys. */
  verify(request: CallbackRequest, keys: VerificationKeys): boolean;
  /** Field of the body with the id of the job, and of the handle with the same id. */
  idField: 'request_id' | 'id';
}
