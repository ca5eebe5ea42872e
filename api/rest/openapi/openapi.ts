import Type from 'typebox';
import { HEALTH_DESCRIPTION } from '../health/openapi.ts';
import type { FeatureDescription } from './feature.ts';

export const OPENAPI_DESCRIPTION: FeatureDescription = {
  tag: HEALTH_DESCRIPTION.tag,
  schemas: {},
  operations: {
    'GET /api/openapi.json': {
      id: 'getDescription',
      summary: 'Get this OpenAPI document',
      response: {
        status: 200,
        description: 'The document, in OpenAPI 3.1.',
        schema: Type.Object(
          { openapi: Type.String(), info: Type.Object({ version: Type.String() }, { additionalProperties: true }) },
          { additionalProperties: true },
        ),
      },
    },
  },
};
