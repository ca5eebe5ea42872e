/** All scopes, each with a description for users (spec: OAuth for MCP). */
export const SCOPES = {
  'svc:read': 'See your generations, your library and how many credits you have used',
  'svc:write': 'Create images and videos, which spends your credits',
} as const;

export type Scope = keyof typeof SCOPES;

/** The same for an application that uses the REST interface, which has more functions than the tools of assistants. */
export const API_SCOPES: Record<Scope, string> = {
  'svc:read': 'See your generations, your library, your plan, your ledger and how many credits you have used',
  'svc:write': 'Create, cancel and delete images and videos; creating spends your credits',
};

export const ALL_SCOPES = Object.keys(SCOPES) as Scope[];

/** Scopes of API keys. No application can have `account`. */
export const KEY_SCOPES = {
  ...API_SCOPES,
  account:
    'Billing, webhooks, notifications and the affiliate program; list and revoke API keys, list members and their usage',
};

export type KeyScope = keyof typeof KEY_SCOPES;

export const ALL_KEY_SCOPES = Object.keys(KEY_SCOPES) as KeyScope[];

/** The command line of this service, which is a client without registering. `packages/cli` contains the same id. */
export const CLI_CLIENT = {
  client_id: 'genmeter-cli',
  name: 'genmeter command line',
  redirect_uris: ['http://127.0.0.1/callback'],
};

/** OAuth error codes of this service, with their HTTP statuses (RFC 6749, 7009, 7591, 8707). */
const OAUTH_ERROR_STATUS = {
  invalid_request: 400,
  invalid_client: 401,
  invalid_grant: 400,
  unauthorized_client: 400,
  unsupported_grant_type: 400,
  unsupported_response_type: 400,
  unsupported_token_type: 400,
  invalid_scope: 400,
  invalid_target: 400,
  access_denied: 403,
  consent_required: 400,
  interaction_required: 400,
  invalid_redirect_uri: 400,
  invalid_client_metadata: 400,
  server_error: 500,
  temporarily_unavailable: 503,
} as const;

export type OAuthErrorCode = keyof typeof OAUTH_ERROR_STATUS;

interface OAuthErrorExtras {
  status?: number;
  headers?: Record<string, string>;
}

/**
 * Error response of an OAuth endpoint, rendered as `{ error, error_description }`, or as parameters of a redirect.
 * The description is a sentence for developers, in plain ASCII without quotes (RFC 6749, 5.2).
 */
export class OAuthError extends Error {
  readonly code: OAuthErrorCode;
  readonly extras: OAuthErrorExtras;
  /** Advice for the user, as sentences for a page. */
  readonly advice: string | undefined;

  constructor(code: OAuthErrorCode, description: string, extras: OAuthErrorExtras = {}, advice?: string) {
    super(description);
    this.name = 'OAuthError';
    this.code = code;
    this.extras = extras;
    this.advice = advice;
  }

  get status(): number {
    return this.extras.status ?? OAUTH_ERROR_STATUS[this.code];
  }
}

/**
 * The scopes that a text names, without repetitions.
 * @throws OAuthError invalid_scope if it names another one.
 */
export function parseScopes(text: string): Scope[] {
  const named = [...new Set(text.split(' ').filter((name) => name !== ''))];
  const unknown = named.find((name) => !Object.hasOwn(SCOPES, name));
  if (unknown === undefined) return named as Scope[];
  throw new OAuthError('invalid_scope', `scope may contain ${ALL_SCOPES.join(' and ')} only.`);
}
