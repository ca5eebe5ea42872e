import type { ImageContent } from '@modelcontextprotocol/server';
import { readThumbnail } from '../../../shared/domain/generations/readThumbnail.ts';
import { logger } from '../../../shared/lib/logger.ts';
import { presentGeneration } from '../../../shared/presenters/generation.ts';
import type { Generation } from '../../../shared/tables/Generation.ts';
import { type PresentedGeneration, type ToolResult } from './callToolResult.ts';

/**
 * Describes a generation, and suggests the next step. Each address is in the text once and in the fields once: clients
 * show their model one of them.
 * @param options.hasThumbnail adds the thumbnail as an image for the model. Its text says so if that fails.
 */
export async function buildGenerationResult(
  row: Generation,
  { hasThumbnail = false }: { hasThumbnail?: boolean } = {},
): Promise<ToolResult> {
  const generation = presentGeneration(row);
  const image = hasThumbnail && generation.status === 'succeeded' ? await readImage(row) : undefined;
  const missing = image === null ? 'Its thumbnail cannot be shown now. ' : '';
  return {
    text: `${missing}${describeGeneration(generation)}`,
    ...(image === null || image === undefined ? {} : { image }),
    structured: { ...generation, next: getNextStep(generation) },
  };
}

/** Reads the thumbnail. Null if there is none, or if the media store is unavailable. */
async function readImage(row: Generation): Promise<ImageContent | null> {
  const bytes = await readThumbnail(row).catch((error: unknown) => {
    logger.debug({ err: error, generation: row.uuid }, 'thumbnail could not be read');
    return null;
  });
  if (bytes === null) return null;
  return { type: 'image', data: bytes.toString('base64'), mimeType: 'image/webp' };
}

function getNextStep({ status, outputs }: PresentedGeneration): string {
  if (status === 'queued') return 'Call get_generation again with wait_seconds 45.';
  if (status === 'succeeded')
    return `Show or link ${outputs === undefined ? 'output_url' : 'all outputs'} to the user.`;
  return 'Give the user the reason (error_message), and mention that the credits were refunded.';
}

function describeGeneration(generation: PresentedGeneration): string {
  const { kind, uuid, status, credits_charged, error_message, output_url, duration_ms, is_watermarked } = generation;
  const { outputs = [{ output_url }] } = generation;
  if (status === 'failed') {
    return `The ${kind} ${uuid} failed: ${error_message} Its ${credits_charged} credits were refunded.`;
  }
  if (status === 'queued') {
    return `The ${kind} ${uuid} is still queued (${credits_charged} credits charged). Call get_generation again with wait_seconds 45.`;
  }
  const took = duration_ms === null ? '' : ` after ${(duration_ms / 1_000).toFixed(0)} s`;
  const watermark = is_watermarked ? ' It carries a watermark.' : '';
  // The address is last, so that no punctuation becomes a part of it.
  return `The ${kind} ${uuid} succeeded${took}, for ${credits_charged} credits.${watermark} Download ${outputs.length === 1 ? 'it' : 'its files'} from ${outputs.map(({ output_url: url }) => url).join(' ')}`;
}
