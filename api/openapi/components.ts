import { IDEMPOTENCY_KEY_MAX_CHARACTERS } from '../../shared/spec/limits.ts';
import { ALL_SCOPES, API_SCOPES } from '../../shared/spec/oauth.ts';
import { EXAMPLE_UUID } from './examples.ts';
import { SESSION_COOKIE } from '../pipeline/cookies/sessionCookie.ts';
import type { RequiredCredential } from '../pipeline/route.ts';

/** Components of the OpenAPI document that several operations refer to. */

const textHeader = (description: string, example: string) => ({ description, schema: { type: 'string' }, example });

export const RESPONSE_HEADERS: Record<string, Record<string, unknown>> = {
  RateLimit: textHeader(
    'Remaining requests of the limit that applied, and the seconds until it resets.',
    '"account";r=598;t=42',
  ),
  'RateLimit-Policy': textHeader('The limit: number of requests per window in seconds.', '"account";q=600;w=60'),
  'Retry-After': {
    description: 'Seconds to wait before a retry.',
    schema: { type: 'integer', minimum: 1 },
    example: 12,
  },
  'Idempotent-Replayed': {
    description: 'Present if the response is that of an earlier request with the same `Idempotency-Key`.',
    schema: { type: 'string', enum: ['true'] },
    example: 'true',
  },
  'WWW-Authenticate': textHeader(
    'The required kind of credential, and for an access token the scopes to request.',
    'Bearer',
  ),
  'X-Request-Id': textHeader('Id of the request in the logs of the service.', EXAMPLE_UUID),
};

export const IDEMPOTENCY_KEY_PARAMETER = {
  name: 'Idempotency-Key',
  in: 'header',
  description:
    'A unique value, such as a UUID, for each new request. For 24 hours the same key with the same body returns the first response again; with another body it is a 400. Errors are not stored.',
  schema: { type: 'string', minLength: 1, maxLength: IDEMPOTENCY_KEY_MAX_CHARACTERS, pattern: '^[ -~]+$' },
};

export const SECURITY_SCHEMES = {
  bearerKey: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'svc_ and 40 hex characters',
    description: 'An API key, as `Authorization: Bearer svc_...`.',
  },
  headerKey: { type: 'apiKey', in: 'header', name: 'X-API-Key', description: 'An API key in a separate header.' },
  session: {
    type: 'apiKey',
    in: 'cookie',
    name: SESSION_COOKIE,
    description: "The session cookie. With it, changes must carry the service's own `Origin`, as browsers send it.",
  },
  accessToken: {
    type: 'oauth2',
    description:
      'An access token of an application that a user has connected, for the resource `/api/` of the service.',
    flows: {
      authorizationCode: {
        // Relative to the address of the service.
        authorizationUrl: '/authorize',
        tokenUrl: '/token',
        refreshUrl: '/token',
        scopes: API_SCOPES,
      },
    },
  },
};

type SecurityRequirement = Readonly<Record<string, readonly string[]>>;

const ANY_CREDENTIAL: readonly SecurityRequirement[] = [{ bearerKey: [] }, { headerKey: [] }, { session: [] }];

/** Lists the credentials that a documented route accepts. Access tokens are accepted where a scope is enough. */
export function listSecurityRequirements(
  credential: RequiredCredential,
  access: unknown,
): readonly SecurityRequirement[] {
  const scope = ALL_SCOPES.find((name) => name === access);
  const accepted = { anyone: [], visitor: [], session: [{ session: [] }], account: ANY_CREDENTIAL }[credential];
  return [...accepted, ...(scope === undefined ? [] : [{ accessToken: [scope] }])];
}
