import Type from 'typebox';
import { HEALTH_DESCRIPTION } from '../health/openapi.ts';
import type { FeatureDescription } from './feature.ts';

export const OPENAPI_DESCRIPTION: FeatureDescription = {
  tag: HEALTH_DESCRIPTION.tag,
  schemas: {},
  operations: {
    'GET /api/openapi.json': {
      id: 'getDescription',
      summary: 'Read this description',
      response: {
        status: 200,
        description: 'OpenAPI 3.1.',
        schema: Type.Object(
          { openapi: Type.String(), info: Type.Object({ version: Type.String() }, { additionalProperties: true }) },
          { additionalProperties: true },
        ),
      },
    },
  },
};
