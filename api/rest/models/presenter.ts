import type { Static } from 'typebox';
import type { ModelWithStatus } from '../../../shared/domain/generations/execution/modelHealth.ts';
import type { getModelResponse } from './schemas.ts';

export function presentModel(model: ModelWithStatus): Static<ReturnType<typeof getModelResponse>> {
  return {
    uuid: model.uuid,
    slug: model.slug,
    name: model.name,
    provider: model.provider,
    kind: model.kind,
    description: model.description,
    credits_base: model.creditsBase,
    status: model.status,
    sort_order: model.sortOrder,
    params_schema: model.paramsSchema,
  };
}
