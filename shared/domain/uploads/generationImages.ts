import type { Readable } from 'node:stream';
import { getMediaStore } from '../../gateways/media/configuredStore.ts';
import { getImagePath } from '../../gateways/media/inputImages.ts';
import { FAILURE_MESSAGES, type RoleImage, type SubmitImage, UpstreamError } from '../../gateways/upstreams/index.ts';
import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import type { GenerationKey } from '../../queues/catalog.ts';
import type { GenerationParams, ModelInput } from '../../spec/catalog.ts';
import { IMAGE_MAX_BYTES } from '../../spec/limits.ts';
import type { Upload } from '../../tables/Upload.ts';
import { buildImageUrl } from './uploadAddresses.ts';

/** An image of a generation, with an address for its upstream. */
export type GenerationImage = RoleImage & SubmitImage;

type ImageRow = Pick<Upload, 'uuid' | 'media_token' | 'content_type' | 'bytes'> & Pick<RoleImage, 'role'>;

const FIND_IMAGES = prepared(
  'find_generation_images',
  `SELECT i.role, u.uuid, u.media_token, u.content_type, u.bytes
     FROM generation_inputs i JOIN uploads u ON u.uuid = i.upload_uuid
    WHERE i.generation_uuid = :uuid AND i.account_id = :account_id
    ORDER BY i.role, i.position`,
);

/**
 * Finds the images of a generation, with addresses that expire at its deadline. Reads nothing for a model without
 * images.
 * @throws UpstreamError `rejected` if one is missing.
 */
export async function findGenerationImages(
  {
    uuid,
    account_id,
    params,
    deadline_at: deadlineAt,
  }: GenerationKey & { params: GenerationParams; deadline_at: Date },
  inputs: Readonly<Record<string, ModelInput>>,
): Promise<GenerationImage[]> {
  const expected = Object.keys(inputs).flatMap((name) => params[name] ?? []).length;
  if (expected === 0) return [];
  const rows = await runStatement<ImageRow>(FIND_IMAGES, { uuid, account_id });
  if (rows.length !== expected) throw new UpstreamError('rejected', FAILURE_MESSAGES.inputGone);
  return Promise.all(rows.map((row) => toGenerationImage(row, deadlineAt)));
}

async function toGenerationImage(row: ImageRow, deadlineAt: Date): Promise<GenerationImage> {
  const { role, bytes, media_token: token, content_type: contentType } = row;
  const read = async (): Promise<Readable> => {
    const content = await getMediaStore().openFile(getImagePath(token, contentType), IMAGE_MAX_BYTES);
    if (content === null) throw new Error('it is not stored');
    return content;
  };
  return { role, bytes, contentType, url: await buildImageUrl(row, deadlineAt), read };
}
