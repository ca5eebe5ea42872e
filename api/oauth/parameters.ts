import { ServiceError } from '../../shared/spec/errors.ts';
import { OAuthError } from '../../shared/spec/oauth.ts';
import { findResource, getResourceUrl } from '../../shared/domain/oauth/resources.ts';
import type { Context, Handler } from '../context.ts';
import { readRawBody } from '../pipeline/body.ts';
import { toServiceError } from '../pipeline/errors.ts';
import { getErrorHeaders, getErrorStatus } from '../pipeline/httpError.ts';

/** Maximum size of a registration and of a form at an OAuth endpoint. */
const OAUTH_BODY_LIMIT_BYTES = 16 * 1024;

/** Parameters of an OAuth request. Each has exactly one value, which is not empty. */
export type OAuthParameters = Readonly<Record<string, string>>;

/** Control characters, which OAuth parameters must not contain (RFC 6749, appendix A), and Postgres cannot store. */
const CONTROL_CHARACTER = /\p{Cc}/u;

/**
 * Parses parameters by RFC 6749 (3.1, 3.2): one without a value counts as absent; repeated ones and control characters
 * are rejected. Only `resource` may be repeated (RFC 8707), if every value names the same resource of this service.
 * @throws OAuthError invalid_request, invalid_target
 */
export function parseParameters(query: URLSearchParams): OAuthParameters {
  const values: Record<string, string> = Object.create(null) as Record<string, string>;
  for (const [name, value] of query) {
    if (CONTROL_CHARACTER.test(name) || CONTROL_CHARACTER.test(value))
      throw new OAuthError('invalid_request', `${toPrintable(name)} must not contain control characters.`);
    if (value === '') continue;
    if (name === 'resource') requireOneResource(value, values[name]);
    else if (name in values) throw new OAuthError('invalid_request', `${toPrintable(name)} must not be repeated.`);
    values[name] = value;
  }
  return values;
}

/** Reads the form of a client. @throws OAuthError invalid_request, invalid_target */
export async function readFormParameters(ctx: Context): Promise<OAuthParameters> {
  if (!ctx.is('application/x-www-form-urlencoded'))
    throw new OAuthError('invalid_request', 'The body must be a form: application/x-www-form-urlencoded.');
  return parseParameters(new URLSearchParams((await readLimitedBody(ctx)).toString()));
}

/** @throws OAuthError invalid_request with status 413 if the body is too large. */
export async function readLimitedBody(ctx: Context): Promise<Buffer> {
  const tooLarge = `The body must have at most ${OAUTH_BODY_LIMIT_BYTES} bytes.`;
  return readRawBody(ctx, OAUTH_BODY_LIMIT_BYTES).catch((error: unknown) => {
    throw error instanceof ServiceError ? new OAuthError('invalid_request', tooLarge, { status: 413 }) : error;
  });
}

/** @throws OAuthError invalid_request if the parameter is absent. */
export function requireParameter(parameters: OAuthParameters, name: string): string {
  const value = parameters[name];
  if (value === undefined) throw new OAuthError('invalid_request', `${name} is missing.`);
  return value;
}

/**
 * Renders errors as defined in RFC 6749, 5.2. The official MCP clients keep a grant through `temporarily_unavailable`,
 * which a rate limit and an outage are; after an unknown code they would ask the user to connect again.
 */
export function withOAuthErrors(handler: Handler): Handler {
  return async (ctx) => {
    ctx.set('cache-control', 'no-store');
    try {
      await handler(ctx);
    } catch (thrown) {
      const error = thrown instanceof OAuthError ? thrown : toOAuthError(toServiceError(thrown, ctx));
      ctx.status = error.status;
      ctx.set(error.extras.headers ?? {});
      ctx.body = { error: error.code, error_description: error.message };
    }
  };
}

function toOAuthError(error: ServiceError): OAuthError {
  const code = error.retryAfterSeconds === undefined ? 'server_error' : 'temporarily_unavailable';
  return new OAuthError(code, error.message, { status: getErrorStatus(error), headers: getErrorHeaders(error) });
}

/** Checks a requested resource. An access token has one audience, so all values must name the same one. */
function requireOneResource(value: string, previous: string | undefined): void {
  const resource = findResource(value);
  if (resource === undefined)
    throw new OAuthError(
      'invalid_target',
      `resource must be ${getResourceUrl('mcp')} or ${getResourceUrl('api')} here.`,
    );
  if (previous !== undefined && findResource(previous) !== resource)
    throw new OAuthError('invalid_target', 'resource must name one resource: request a token for each.');
}

/** Sanitizes a parameter name for an error description. */
function toPrintable(name: string): string {
  return name.slice(0, 40).replaceAll(/[^\x20-\x21\x23-\x5b\x5d-\x7e]/g, '?');
}
