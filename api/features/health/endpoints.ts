import { SQL_FUNCTIONS } from '../../../shared/domain/features.ts';
import { getReadinessProblems } from '../../../shared/domain/platform/readiness.ts';
import { ServiceError } from '../../../shared/spec/errors.ts';
import { VERSION } from '../../../shared/spec/version.ts';
import type { Feature } from '../feature.ts';
import { DOCS_CACHE_CONTROL, getDocumentText } from '../../openapi/servedDocument.ts';
import { defineEndpoint } from '../../pipeline/endpoint.ts';
import { HealthResponse, OpenApiResponse, ReadyResponse, ServingResponse } from './schemas.ts';

const STOPPING = 'the process is stopping';

function notReady(problems: string[]): ServiceError {
  return new ServiceError('internal_error', `Not ready: ${problems.join('; ')}.`, { retryAfterSeconds: 5 });
}

export const SERVICE: Feature = {
  tag: { name: 'Service', description: 'The service itself.' },
  endpoints: [
    defineEndpoint({
      id: 'getHealth',
      route: 'GET /api/health/',
      policy: { credential: 'anyone', rateLimit: 'unlimited', isProbe: true },
      summary: 'Check that the service responds',
      response: {
        description: 'The service responds.',
        schema: HealthResponse,
        example: { status: 'ok', version: VERSION },
      },
      run: () => ({ status: 'ok', version: VERSION }),
    }),
    // Reports 200 also while the database is unavailable. A load balancer that uses it keeps its servers during an
    // outage, whose 503 then reach the clients.
    defineEndpoint({
      id: 'getServing',
      route: 'GET /api/serving/',
      policy: { credential: 'anyone', rateLimit: 'unlimited', isProbe: true },
      summary: 'Ask whether this process accepts requests',
      description:
        'For load balancers. 503 only while the process is stopping, not while a server that it needs is unavailable.',
      response: { description: 'It does.', schema: ServingResponse, example: { status: 'serving' } },
      run: ({ ctx }) => {
        ctx.set('cache-control', 'no-store');
        if (ctx.state.isDraining === true) throw notReady([STOPPING]);
        return { status: 'serving' };
      },
    }),
    defineEndpoint({
      id: 'getReadiness',
      route: 'GET /api/ready/',
      policy: { credential: 'anyone', rateLimit: 'unlimited', isProbe: true },
      summary: 'Check that the service is ready',
      description:
        'Readiness probe for orchestrators: checks database, migrations, Redis and workers. With 503, `detail` states what is unavailable.',
      response: { description: 'The service is ready.', schema: ReadyResponse, example: { status: 'ready' } },
      run: async ({ ctx }) => {
        ctx.set('cache-control', 'no-store');
        const problems = ctx.state.isDraining === true ? [STOPPING] : await getReadinessProblems(SQL_FUNCTIONS);
        if (problems.length > 0) throw notReady(problems);
        return { status: 'ready' };
      },
    }),
    defineEndpoint({
      id: 'getDescription',
      route: 'GET /api/openapi.json',
      policy: { credential: 'anyone', rateLimit: 'public', cors: 'anyOrigin' },
      summary: 'Get this OpenAPI document',
      response: { description: 'The document, in OpenAPI 3.1.', schema: OpenApiResponse },
      run: ({ ctx }) => {
        ctx.set('cache-control', DOCS_CACHE_CONTROL);
        ctx.type = 'application/json; charset=utf-8';
        return getDocumentText();
      },
    }),
  ],
};
