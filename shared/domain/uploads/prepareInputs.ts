import {
  describeFile,
  fetchImage,
  InvalidImageError,
  readStoredFile,
  withTempFile,
  writeLocalFile,
} from '../../gateways/media/inputImages.ts';
import type { GenerationParams, InputRole, ModelInput, ParamValue } from '../../spec/catalog.ts';
import { ServiceError } from '../../spec/errors.ts';
import { Generation } from '../../tables/Generation.ts';
import type { Upload } from '../../tables/Upload.ts';
import { withAccountSlot } from './accountSlots.ts';
import { getSharedUploadUuid, inputError, type InputReference, parseInputReference } from './inputReferences.ts';
import { decodeUpload, prepareUpload, toUnavailableError } from './prepareUpload.ts';
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
 * Makes the images of a request ready: fetches, decodes and stores those that are not stored yet. Charges nothing. A row
 * that it adds expires if no generation uses it.
 * @throws ServiceError validation_error that names the parameter; internal_error (503) if the storage is unavailable.
 */
export async function prepareInputs(accountId: number, inputs: RequestedInput[]): Promise<PreparedInput[]> {
  const rejection = new AbortController();
  return Promise.all(
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
  return withTempFile(async (original) => {
    if (reference.form === 'url') await fetchImage(reference.url, original);
    else if (reference.form === 'data') await writeLocalFile(original, reference.bytes);
    else if (path === null || !(await readStoredFile(path, original)))
      throw inputError(field, 'names a generation whose image was deleted');
    // Counted before it is decoded, so that images that cannot be used count, too.
    const { contentType, bytes } = await describeFile(original);
    const row = await addUpload({ accountId, source: reference.form, contentType, bytes, uuid: shared });
    const upload = row.status === 'pending' ? await decodeUpload(row, original) : row;
    if (upload === undefined)
      throw new InvalidImageError('The image was deleted while it was processed. Send the request again.');
    return requireReady(upload);
  });
}

function requireReady(upload: Upload): Upload {
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
