import { randomUUID } from 'node:crypto';
import {
  type CallToolResult,
  CLIENT_CAPABILITIES_META_KEY,
  inputRequired,
  type InputRequiredResult,
  UrlElicitationRequiredError,
} from '@modelcontextprotocol/server';
import { config } from '../../../shared/lib/config.ts';
import type { ErrorCode, ServiceError } from '../../../shared/spec/errors.ts';
import type { McpRequestContext } from '../requestContext.ts';

interface ClientCapabilities {
  /** Without modes, it means forms only. */
  elicitation?: { url?: unknown } | null;
}

/** Reads the capability from the params of `initialize`, or from those of a stateless request. Both are unvalidated. */
export function declaresUrlElicitation(params: unknown): boolean {
  const { capabilities, _meta: meta } = (params ?? {}) as {
    capabilities?: ClientCapabilities;
    _meta?: Record<string, ClientCapabilities | undefined>;
  };
  const declared = capabilities ?? meta?.[CLIENT_CAPABILITIES_META_KEY];
  return (declared?.elicitation?.url ?? null) !== null;
}

/** Key of the request within a stateless result. */
const REQUEST_KEY = 'account_page';

/** Pages where the user can resolve an error that does not name one. */
const PAGES: Partial<Record<ErrorCode, string>> = {
  insufficient_credits: '/account/billing/',
  subscription_required: '/account/billing/',
};

/**
 * Asks a client that declared URL elicitation to open the page where its user can resolve the error. The page requires
 * a sign-in, and its address does not identify the user.
 * @param hasInputResponses true if a stateless client repeats its request after it was asked.
 * @returns the result that asks a stateless client; null for other clients and errors, and if the page was shown
 *   already.
 * @throws UrlElicitationRequiredError for a client with a session (MCP 2025-11-25: URL Elicitation Required Error).
 */
export function requestAccountPage(
  { code, message, accountPath = PAGES[code] }: ServiceError,
  { elicitsUrls, sessionId }: McpRequestContext,
  hasInputResponses: boolean,
): CallToolResult | InputRequiredResult | null {
  if (accountPath === undefined || !elicitsUrls) return null;
  const url = `${config.BASE_URL}${accountPath}`;
  if (sessionId !== null) {
    const elicitation = { mode: 'url' as const, elicitationId: randomUUID(), url, message };
    throw new UrlElicitationRequiredError([elicitation], `${code}: ${message} ${url}`);
  }
  // The client has shown the page already.
  if (hasInputResponses) return null;
  return inputRequired({ inputRequests: { [REQUEST_KEY]: inputRequired.elicitUrl({ url, message }) } });
}
