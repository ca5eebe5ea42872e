import Type from 'typebox';
import { HealthResponse, ReadyResponse } from './schemas.ts';
import type { Operations } from '../openapi/operation.ts';

export const SERVICE_OPERATIONS: Operations = {
  'GET /api/health/': {
    id: 'getHealth',
    tag: 'Service',
    summary: 'Ask whether the service answers',
    response: {
      status: 200,
      description: 'It does.',
      schema: HealthResponse,
      example: { status: 'ok', version: '2.0.0' },
    },
  },
  'GET /api/ready/': {
    id: 'getReadiness',
    tag: 'Service',
    summary: 'Ask whether work gets done',
    description:
      'For orchestrators: database, migrations, Redis and a live worker. 503 says in `detail` what is missing.',
    response: { status: 200, description: 'All of it is there.', schema: ReadyResponse, example: { status: 'ready' } },
  },
  'GET /api/openapi.json': {
    id: 'getDescription',
    tag: 'Service',
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
};
