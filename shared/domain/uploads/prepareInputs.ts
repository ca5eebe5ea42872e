import { createHash } from 'node:crypto';
import { v5 as uuidv5 } from 'uuid';
import {
  describeFile,
  InvalidImageError,
  readStoredFile,
  withTempFile,
  writeLocalFile,
} from '../../gateways/media/inputImages.ts';
import { canParseUrl } from '../../lib/canParseUrl.ts';
import { isUuid } from '../../lib/uuid.ts';
import type { GenerationParams, InputRole, ModelInput, ParamValue } from '../../spec/catalog.ts';
import { ServiceError } from '../../spec/errors.ts';
import { DATA_URL_MAX_BYTES, IMAGE_URL_MAX_CHARACTERS, INPUT_IMAGES_MAX_BYTES } from '../../spec/limits.ts';
import { Generation } from '../../tables/Generation.ts';
import type { Upload } from '../../tables/Upload.ts';
import { withAccountSlot } from './accountSlots.ts';
import { decodeUpload, fetchUpload, prepareUpload, toUnavailableError } from './prepareUpload.ts';
import { addUpload, findUploadForUse } from './uploads.ts';

/** An image that a request names, with its place among the inputs of the generation. */
export interface RequestedInput {
  /** Parameter that names it, for error details. */
  field: string;
  role: InputRole;
  position: number;
  reference: InputReference;
}

/** An input of a generation, as its charge stores it. */
export interface GenerationInput {
  role: InputRole;
  position: number;
  upload_uuid: string;
}

/** An input whose image is decoded and stored. */
export interface PreparedInput extends GenerationInput {
  upload: Upload;
}

/** Parameters with image parameters among them. */
export interface ParsedInputs {
  /** As responses show them: a data URL is replaced by the upload that holds its image. */
  params: GenerationParams;
  inputs: RequestedInput[];
}

/**
 * Parses the image parameters of a request. Reads and fetches nothing.
 * @throws ServiceError validation_error
 */
export function parseInputs(
  accountId: number,
  declarations: Readonly<Record<string, ModelInput>>,
  params: GenerationParams,
): ParsedInputs {
  if (!Object.keys(declarations).some((name) => params[name] !== undefined)) return { params, inputs: [] };
  const shown: Record<string, ParamValue> = { ...params };
  const inputs: RequestedInput[] = [];
  for (const [name, { role, max }] of Object.entries(declarations)) {
    const value = shown[name];
    if (value === undefined) continue;
    const isList = Array.isArray(value);
    const values = (isList ? value : [value]) as string[];
    if (values.length > max)
      throw inputError(`params.${name}`, `must have at most ${max} image${max === 1 ? '' : 's'}`);
    const shownValues = values.map((text, index) => {
      const field = isList ? `params.${name}.${index}` : `params.${name}`;
      const reference = parseInputReference(text, field);
      const position = inputs.filter((input) => input.role === role).length;
      inputs.push({ field, role, position, reference });
      return reference.form === 'data' ? `upload:${getSharedUploadUuid(accountId, reference)}` : text;
    });
    shown[name] = isList ? shownValues : (shownValues[0] as string);
  }
  return { params: shown, inputs };
}

/**
 * Makes the images of a request ready: fetches, decodes and stores those that are not stored yet. Charges nothing. A
 * row that it adds expires if no generation uses it.
 * @throws ServiceError validation_error that names the parameter; internal_error (503) if the storage is unavailable.
 */
export async function prepareInputs(accountId: number, inputs: RequestedInput[]): Promise<PreparedInput[]> {
  const rejection = new AbortController();
  const prepared = await Promise.all(
    inputs.map((input) =>
      withAccountSlot(accountId, async () => {
        rejection.signal.throwIfAborted();
        const upload = await prepareInput(accountId, input).catch((error: unknown) => {
          rejection.abort();
          throw error instanceof InvalidImageError
            ? toFieldError(input.field, error.message)
            : toUnavailableError(error);
        });
        return { role: input.role, position: input.position, upload_uuid: upload.uuid, upload };
      }),
    ),
  );
  requireTotalSize(inputs, prepared);
  return prepared;
}

/** Names the first image with which a request has too many bytes: upstreams receive all of them in one body. */
function requireTotalSize(inputs: readonly RequestedInput[], prepared: readonly PreparedInput[]): void {
  let bytes = 0;
  for (const [index, { upload }] of prepared.entries()) {
    bytes += upload.bytes;
    if (bytes > INPUT_IMAGES_MAX_BYTES)
      throw inputError(
        (inputs[index] as RequestedInput).field,
        `is too large: the images of a request may have ${INPUT_IMAGES_MAX_BYTES / 1_000_000} MB together`,
      );
  }
}

function toFieldError(field: string, message: string): ServiceError {
  return new ServiceError('validation_error', `${field}: ${message}`, { field });
}

async function prepareInput(accountId: number, { field, reference }: RequestedInput): Promise<Upload> {
  if (reference.form === 'upload') return prepareReferencedUpload(accountId, reference.uuid, field);
  const isGeneration = reference.form === 'generation';
  // First: the image of a generation that was deleted must not be used, although it is kept for others.
  const path = isGeneration ? await findGenerationImage(accountId, reference.uuid, field) : null;
  const shared = getSharedUploadUuid(accountId, reference);
  const existing = shared === undefined ? undefined : await findUploadForUse(accountId, shared);
  if (existing !== undefined && existing.status !== 'pending') return requireReady(existing);
  if (reference.form === 'url') return requireReady(await fetchUpload(accountId, reference.url));
  return withTempFile(async (original) => {
    if (reference.form === 'data') await writeLocalFile(original, reference.bytes);
    else if (path === null || !(await readStoredFile(path, original)))
      throw inputError(field, 'names a generation whose image was deleted');
    // Counted before it is decoded, so that images that cannot be used count, too.
    const { contentType, bytes } = await describeFile(original);
    const row = await addUpload({ accountId, source: reference.form, contentType, bytes, uuid: shared });
    return requireReady(row.status === 'pending' ? await decodeUpload(row, original) : row);
  });
}

function requireReady(upload: Upload | undefined): Upload {
  if (upload === undefined)
    throw new InvalidImageError('The image was deleted while it was processed. Send the request again.');
  if (upload.error !== null) throw new InvalidImageError(upload.error);
  return upload;
}

async function prepareReferencedUpload(accountId: number, uuid: string, field: string): Promise<Upload> {
  const found = await findUploadForUse(accountId, uuid);
  if (found === undefined)
    throw inputError(field, 'names no upload of this account. It may have expired: uploads are kept for 24 hours');
  const upload = requireReady(await prepareUpload(found));
  if (upload.status === 'ready') return upload;
  throw inputError(field, 'names an upload whose file has not arrived. Send it to its upload_url first');
}

/** Returns the path of the image of a generation. */
async function findGenerationImage(accountId: number, uuid: string, field: string): Promise<string> {
  const generation = await Generation.query()
    .findOne({ uuid, account_id: accountId, deleted_at: null })
    .select('status', 'output_path');
  if (generation === undefined) throw inputError(field, 'names no generation of this account');
  if (generation.status !== 'succeeded' || generation.output_path === null)
    throw inputError(field, `names a generation that is ${generation.status}. Only a succeeded one has an image`);
  if (!/\.(png|jpg|webp)$/.test(generation.output_path))
    throw inputError(field, 'names a video. Only images can be used');
  return generation.output_path;
}

/** An image as a parameter of a create request names it. */
type InputReference =
  | { form: 'upload' | 'generation'; uuid: string }
  | { form: 'url'; url: string }
  | { form: 'data'; bytes: Buffer };

/** Namespace of the UUIDs of images that are the same in every request: those of data URLs and of generations. */
const UPLOAD_NAMESPACE = '3f1c5a52-7c1e-4f0e-9f54-0f5f2f3c6b1a';

/** With the parameters that RFC 2397 allows. The type is found by the bytes. */
const DATA_URL_HEADER = /^data:image\/(?:png|jpe?g|webp)(?:;[\w-]{1,32}=[^;,]{0,64}){0,4};base64,/i;
const NOT_BASE64 = /[^A-Za-z0-9+/]/;

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
  if (!isBase64(base64)) throw inputError(field, 'is not valid base64');
  return { form: 'data', bytes: Buffer.from(base64, 'base64') };
}

/**
 * Looks for the first other character: a pattern of the whole text may exceed the stack of regular expressions at 6 MB.
 */
function isBase64(text: string): boolean {
  const end = text.search(NOT_BASE64);
  return end === -1 ? text !== '' : end > 0 && /^={1,2}$/.test(text.slice(end));
}

/** Returns the UUID of the upload that holds the image of a data URL or of a generation. */
export function getSharedUploadUuid(accountId: number, reference: InputReference): string | undefined {
  if (reference.form === 'generation') return uuidv5(`${accountId} generation ${reference.uuid}`, UPLOAD_NAMESPACE);
  if (reference.form !== 'data') return undefined;
  const hash = createHash('sha256').update(reference.bytes).digest('hex');
  return uuidv5(`${accountId} data ${hash}`, UPLOAD_NAMESPACE);
}

/** Error for a parameter. `problem` continues a sentence that begins with its name. */
function inputError(field: string, problem: string): ServiceError {
  return new ServiceError('validation_error', `${field} ${problem}.`, { field });
}
