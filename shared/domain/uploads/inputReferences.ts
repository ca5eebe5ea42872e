import { createHash } from 'node:crypto';
import { v5 as uuidv5 } from 'uuid';
import { isUuid } from '../../lib/uuid.ts';
import { ServiceError } from '../../spec/errors.ts';
import { DATA_URL_MAX_BYTES, IMAGE_URL_MAX_CHARACTERS } from '../../spec/limits.ts';
import { canParseUrl } from '../../lib/canParseUrl.ts';

/** An image as a parameter of a create request names it. */
export type InputReference =
  | { form: 'upload' | 'generation'; uuid: string }
  | { form: 'url'; url: string }
  | { form: 'data'; bytes: Buffer };

/** Namespace of the UUIDs of images that are the same in every request: those of data URLs and of generations. */
const UPLOAD_NAMESPACE = '3f1c5a52-7c1e-4f0e-9f54-0f5f2f3c6b1a';

/** With the parameters that RFC 2397 allows. The type is found by the bytes. */
const DATA_URL_HEADER = /^data:image\/(?:png|jpe?g|webp)(?:;[\w-]{1,32}=[^;,]{0,64}){0,4};base64,/i;
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

/**
 * Parses the value of an image parameter.
 * @param field name for error details, such as `params.first_frame`.
 * @throws ServiceError validation_error
 */
export function parseInputReference(value: string, field: string): InputReference {
  const [, form, uuid = ''] = /^(upload|generation):(.*)$/s.exec(value) ?? [];
  if (form === 'upload' || form === 'generation') {
    if (!isUuid(uuid)) throw inputError(field, `must be "${form}:" followed by a UUID`);
    return { form, uuid: uuid.toLowerCase() };
  }
  if (/^data:/i.test(value)) return parseDataUrl(value, field);
  if (!/^https?:\/\//i.test(value) || !canParseUrl(value))
    throw inputError(
      field,
      'must be "upload:<uuid>", "generation:<uuid>", an https address, or "data:image/png;base64,…"',
    );
  if (value.length > IMAGE_URL_MAX_CHARACTERS)
    throw inputError(field, `must have at most ${IMAGE_URL_MAX_CHARACTERS} characters. Upload the image instead`);
  const { username, password } = new URL(value);
  if (username !== '' || password !== '') throw inputError(field, 'must not contain a user name or password');
  return { form: 'url', url: value };
}

function parseDataUrl(value: string, field: string): InputReference {
  const [header] = DATA_URL_HEADER.exec(value) ?? [];
  if (header === undefined)
    throw inputError(field, 'must begin with data:image/png;base64, or the same with jpeg or webp');
  const base64 = value.slice(header.length);
  // Four characters encode three bytes.
  if (base64.length > Math.ceil(DATA_URL_MAX_BYTES / 3) * 4)
    throw inputError(field, `must have at most ${DATA_URL_MAX_BYTES / 1_000_000} MB. Upload the image instead`);
  if (!BASE64.test(base64)) throw inputError(field, 'is not valid base64');
  return { form: 'data', bytes: Buffer.from(base64, 'base64') };
}

/** Returns the UUID of the upload that holds the image of a data URL or of a generation. */
export function getSharedUploadUuid(accountId: number, reference: InputReference): string | undefined {
  if (reference.form === 'generation') return uuidv5(`${accountId} generation ${reference.uuid}`, UPLOAD_NAMESPACE);
  if (reference.form !== 'data') return undefined;
  const hash = createHash('sha256').update(reference.bytes).digest('hex');
  return uuidv5(`${accountId} data ${hash}`, UPLOAD_NAMESPACE);
}

/** Error for a parameter. `problem` continues a sentence that begins with its name. */
export function inputError(field: string, problem: string): ServiceError {
  return new ServiceError('validation_error', `${field} ${problem}.`, { field });
}
