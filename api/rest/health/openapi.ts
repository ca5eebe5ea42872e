import { HealthResponse, ReadyResponse, ServingResponse } from './schemas.ts';
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
    'GET /api/serving/': {
      id: 'getServing',
      summary: 'Ask whether this process accepts requests',
      description:
        'For load balancers. 503 only while the process is stopping, not while a server that it needs is unavailable.',
      response: {
        status: 200,
        description: 'It does.',
        schema: ServingResponse,
        example: { status: 'serving' },
      },
    },
    'GET /api/ready/': {
      id: 'getReadiness',
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
  },
};
