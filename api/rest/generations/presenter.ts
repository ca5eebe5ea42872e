import type { Static } from 'typebox';
import { config } from '../../../shared/lib/config.ts';
import { getModelBySlug } from '../../../shared/spec/catalog.ts';
import type { Generation } from '../../../shared/tables/Generation.ts';
import type { GenerationResponse } from './schemas.ts';

export function presentGeneration(row: Generation): Static<typeof GenerationResponse> {
  const model = getModelBySlug(row.model);
  return {
    uuid: row.uuid,
    model: row.model,
    model_name: model.name,
    kind: model.kind,
    prompt: row.prompt,
    params: row.params,
    status: row.status,
    output_url: buildMediaUrl(row.output_path),
    thumbnail_url: buildMediaUrl(row.thumbnail_path),
    credits_charged: row.credits_charged,
    error_message: row.error_message,
    created_at: row.created_at,
    completed_at: row.completed_at,
    duration_ms: row.completed_at === null ? null : row.completed_at.getTime() - row.created_at.getTime(),
    is_watermarked: row.is_watermarked,
  };
}

function buildMediaUrl(path: string | null): string | null {
  return path === null ? null : `${config.CDN_URL}/${path}`;
}
