import { HealthResponse, ReadyResponse } from './schemas.ts';
import type { FeatureDescription } from '../openapi/feature.ts';
import { VERSION } from '../../../shared/spec/version.ts';

export const HEALTH_DESCRIPTION: FeatureDescription = {
  tag: { name: 'Service', description: 'The service itself.' },
  schemas: {},
  operations: {
    'GET /api/health/': {
      id: 'getHealth',
      summary: 'Check that the service responds',
      response: {
        status: 200,
        description: 'The service responds.',
        schema: HealthResponse,
        example: { status: 'ok', version: VERSION },
      },
    },
    'GET /api/ready/': {
      id: 'getReadiness',
      summary: 'Check that the service is ready',
      description:
        'For orchestrators: database, migrations, Redis and a live worker. 503 says in `detail` what is missing.',
      response: {
        status: 200,
        description: 'All of it is there.',
        schema: ReadyResponse,
        example: { status: 'ready' },
      },
    },
  },
};
