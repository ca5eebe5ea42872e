import Type from 'typebox';
import { HealthResponse, ReadyResponse } from './schemas.ts';
import type { Operations } from '../openapi/operation.ts';

export const SERVICE_OPERATIONS: Operations = {
  'GET /api/health/': {
    id: 'getHealth',
    tag: 'Service',
    summary: 'Check that the service responds',
    response: {
      status: 200,
      description: 'The service responds.',
      schema: HealthResponse,
      example: { status: 'ok', version: '2.0.0' },
    },
  },
  'GET /api/ready/': {
    id: 'getReadiness',
    tag: 'Service',
    summary: 'Check that the service is ready',
    description:
      'Readiness probe for orchestrators: checks database, migrations, Redis and workers. With 503, `detail` states what is unavailable.',
    response: {
      status: 200,
      description: 'The service is ready.',
      schema: ReadyResponse,
      example: { status: 'ready' },
    },
  },
  'GET /api/openapi.json': {
    id: 'getDescription',
    tag: 'Service',
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
};
