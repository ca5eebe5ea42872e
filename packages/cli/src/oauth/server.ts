import { type ErrorCode, GenmeterError } from '@genmeter/client';
import type { Tokens } from '../credentials.ts';
import { CommandError, EXIT } from '../terminal.ts';

/** Client that every service knows as its command line. */
export const CLIENT_ID = 'genmeter-cli';

/** Path of the loopback address to which the browser returns. The service ignores its port (RFC 8252). */
export const REDIRECT_PATH = '/callback';

const REQUEST_TIMEOUT_MS = 10_000;
const ASSUMED_LIFETIME_SECONDS = 86_400;

/** The authorization server of a service. */
export interface AuthorizationServer {
  issuer: string;
  /** The REST interface, for which tokens are requested (RFC 8707). */
  resource: string;
  authorizationEndpoint: string;
  tokenEndpoint: string;
  revocationEndpoint: string;
}

/** Rejection of a request by the authorization server, with a code of its RFCs. */
export class OAuthError extends Error {
  override readonly name = 'OAuthError';
  readonly code: string;

  constructor(code: string, description: string) {
    super(description);
    this.code = code;
  }
}

/**
 * Finds the authorization server of a service (RFC 9728, RFC 8414).
 * @throws CommandError if it has none, or its address is another one.
 */
export async function discover(url: string): Promise<AuthorizationServer> {
  const resource = await readMetadata(`${url}/.well-known/oauth-protected-resource/api`, url);
  const name = readText(resource, 'resource');
  if (name !== getResource(url)) {
    const detail = `This service has another address. Run: genmeter login --url ${name.replace(/\/api\/$/, '')}`;
    throw new CommandError(EXIT.usage, 'usage', detail);
  }
  const issuer = (resource['authorization_servers'] as unknown[] | undefined)?.[0];
  if (typeof issuer !== 'string') throw unavailableError(url);
  const origin = parseWebAddress('authorization_servers', issuer, url).origin;
  const server = await readMetadata(`${issuer}/.well-known/oauth-authorization-server`, url);
  if (readText(server, 'issuer') !== issuer) throw unavailableError(url);
  const readEndpoint = (field: string): string => {
    const address = parseWebAddress(field, readText(server, field), url);
    if (address.origin === origin) return address.href;
    throw unsafeAddressError(`${field} (${address.href}) is not an address of ${origin} as it should be`);
  };
  return {
    issuer,
    resource: name,
    authorizationEndpoint: readEndpoint('authorization_endpoint'),
    tokenEndpoint: readEndpoint('token_endpoint'),
    revocationEndpoint: readEndpoint('revocation_endpoint'),
  };
}

const LOOPBACK_HOST = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

/**
 * Parses an address of the metadata. Only https is accepted, because the operating system opens other schemes with
 * other programs; http as well on this machine, or if the service itself uses it.
 */
function parseWebAddress(field: string, text: string, serviceUrl: string): URL {
  const address = URL.canParse(text) ? new URL(text) : undefined;
  if (address?.protocol === 'https:') return address;
  const isHttpAllowed = new URL(serviceUrl).protocol === 'http:' || LOOPBACK_HOST.test(address?.hostname ?? '');
  if (address?.protocol === 'http:' && isHttpAllowed) return address;
  throw unsafeAddressError(`${field} (${address?.href ?? text}) is not an https address`);
}

function unsafeAddressError(problem: string): CommandError {
  const detail = `${problem}. The sign-in was not started. Check the address of the service, or run genmeter login --key.`;
  return new CommandError(EXIT.failure, 'unsafe_address', `In the metadata of the service, ${detail}`);
}

/** The REST interface of a service as a resource (RFC 8707). */
const getResource = (serviceUrl: string): string => `${serviceUrl}/api/`;

async function readMetadata(address: string, url: string): Promise<Record<string, unknown>> {
  return send(address, {}).catch((error: unknown) => {
    throw error instanceof GenmeterError && error.status === 404 ? unavailableError(url) : error;
  });
}

function unavailableError(url: string): CommandError {
  const detail = `${url} does not offer a sign-in through the browser. Run genmeter login --key.`;
  return new CommandError(EXIT.failure, 'sign_in_unavailable', detail);
}

interface CodeExchange {
  code: string;
  verifier: string;
  redirectUri: string;
}

export async function exchangeCode(server: AuthorizationServer, exchange: CodeExchange): Promise<Tokens> {
  const { code, verifier, redirectUri } = exchange;
  const { tokenEndpoint, revocationEndpoint, resource } = server;
  const issued = await postForm(tokenEndpoint, {
    grant_type: 'authorization_code',
    client_id: CLIENT_ID,
    code,
    code_verifier: verifier,
    redirect_uri: redirectUri,
    resource,
  });
  return { tokenEndpoint, revocationEndpoint, ...readTokens(issued) };
}

/**
 * Exchanges a refresh token for the next tokens. The resource is named so that a process of a release without this
 * resource rejects the request: it would issue a token for another one. The service accepts the same refresh token
 * again for a minute, so the client repeats a refresh whose response was lost.
 * @throws OAuthError if the token is no longer valid, or the server rejects the request.
 */
export async function refresh(tokens: Tokens, serviceUrl: string): Promise<Tokens> {
  const fields = {
    grant_type: 'refresh_token',
    client_id: CLIENT_ID,
    refresh_token: tokens.refreshToken,
    resource: getResource(serviceUrl),
  };
  return { ...tokens, ...readTokens(await postForm(tokens.tokenEndpoint, fields)) };
}

/** Ends the access of tokens (RFC 7009). */
export async function revoke({ revocationEndpoint, refreshToken }: Tokens): Promise<void> {
  await postForm(revocationEndpoint, { client_id: CLIENT_ID, token: refreshToken, token_type_hint: 'refresh_token' });
}

function readTokens(issued: Record<string, unknown>): Pick<Tokens, 'accessToken' | 'expiresAt' | 'refreshToken'> {
  return {
    accessToken: readText(issued, 'access_token'),
    // Without a time the token is used until it is rejected.
    expiresAt: Date.now() + (Number(issued['expires_in']) || ASSUMED_LIFETIME_SECONDS) * 1_000,
    refreshToken: readText(issued, 'refresh_token'),
  };
}

function postForm(address: string, fields: Record<string, string>): Promise<Record<string, unknown>> {
  return send(address, { method: 'POST', body: new URLSearchParams(fields) });
}

/**
 * Sends a request and returns the object of its response; an empty one for an empty response.
 * @throws OAuthError for a rejection by the authorization server, GenmeterError for every other failure.
 */
async function send(address: string, init: RequestInit): Promise<Record<string, unknown>> {
  let response: Response;
  let text: string;
  try {
    const signal = AbortSignal.timeout(REQUEST_TIMEOUT_MS);
    response = await fetch(address, { ...init, redirect: 'error', signal });
    text = await response.text();
  } catch (cause) {
    const reason = (cause as { cause?: { message?: string } }).cause?.message || (cause as Error).message;
    throw new GenmeterError({ error: 'network_error', detail: `No response from ${address}: ${reason}.`, cause });
  }
  const body = parseObject(text);
  if (response.ok && (body !== undefined || text === '')) return body ?? {};
  const { error, error_description: description, detail } = body ?? {};
  if (typeof error === 'string' && typeof description === 'string') throw new OAuthError(error, description);
  const isEnvelope = !response.ok && typeof error === 'string' && typeof detail === 'string';
  throw new GenmeterError({
    error: isEnvelope ? (error as ErrorCode) : 'unexpected_response',
    detail: isEnvelope ? detail : `${address} did not respond as expected (status ${response.status}).`,
    status: response.status,
    requestId: response.headers.get('x-request-id') ?? undefined,
  });
}

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

function readText(object: Record<string, unknown>, name: string): string {
  const value = object[name];
  if (typeof value === 'string') return value;
  throw new GenmeterError({ error: 'unexpected_response', detail: `The response of the service lacks ${name}.` });
}
