import { ProtocolError, ProtocolErrorCode, type Server } from '@modelcontextprotocol/server';
import { completeGenerationIds, listGenerationsByCursor } from '../../../shared/domain/generations/list.ts';
import { readGeneration } from '../../../shared/domain/generations/read.ts';
import type { Generation } from '../../../shared/tables/Generation.ts';
import { HOUR_MS } from '../../../shared/spec/durations.ts';
import { toServiceError } from '../../pipeline/errors.ts';
import { presentGeneration } from '../../../shared/presenters/generation.ts';
import { getMcpRequestContext, type McpRequestContext, recordDisconnection } from '../requestContext.ts';
import { GENERATION_VIEW_URI, getGenerationView } from '../apps/generationView.ts';
import { buildIcon } from '../icons.ts';
import { truncateText } from '../../../shared/lib/truncateText.ts';
import { buildGenerationUri, GENERATION_URI_TEMPLATE, parseGenerationUri } from './generationUri.ts';
import { subscribeSession, unsubscribeSession } from './subscriptions.ts';

/** Stateless clients, and caches between them, may keep responses that are the same for every account. */
export const SHARED_CACHE = { ttlMs: HOUR_MS, cacheScope: 'public' } as const;

const JSON_TYPE = 'application/json';
const CURSOR_PATTERN = /^before-(\d{1,15})$/;
/** Maximum of the protocol. */
const COMPLETIONS_MAX = 100;
const PROMPT_SHOWN_CHARACTERS = 60;

/** Registers the generations of the account as resources: list, complete, read, subscribe until the generation ends. */
export function registerResourceHandlers(server: Server): void {
  server.setRequestHandler('resources/list', ({ params }, context) =>
    withProtocolErrors(getMcpRequestContext(context), '', async ({ caller }) => {
      const { items, next } = await listGenerationsByCursor(caller.accountId, decodeCursor(params?.cursor));
      return { resources: items.map(presentResource), ...(next === null ? {} : { nextCursor: encodeCursor(next) }) };
    }),
  );
  server.setRequestHandler('resources/templates/list', () => ({
    resourceTemplates: [
      {
        uriTemplate: GENERATION_URI_TEMPLATE,
        name: 'generation',
        title: 'A generation',
        description: 'An image or video of the account: its request, its status, and its download URL.',
        mimeType: JSON_TYPE,
        icons: [buildIcon('generation')],
      },
    ],
  }));
  server.setRequestHandler('resources/read', ({ params: { uri } }, context) =>
    withProtocolErrors(getMcpRequestContext(context), uri, async ({ caller, sessionId }) => {
      if (uri === GENERATION_VIEW_URI)
        return { contents: [getGenerationView()], ...(sessionId === null ? SHARED_CACHE : {}) };
      const generation = presentGeneration(await readGeneration(caller, requireGenerationId(uri)));
      return { contents: [{ uri, mimeType: JSON_TYPE, text: JSON.stringify(generation) }] };
    }),
  );
  server.setRequestHandler('completion/complete', ({ params: { ref, argument } }, context) =>
    withProtocolErrors(getMcpRequestContext(context), '', async ({ caller }) => {
      if (ref.type !== 'ref/resource' || ref.uri !== GENERATION_URI_TEMPLATE || argument.name !== 'uuid')
        throw new ProtocolError(
          ProtocolErrorCode.InvalidParams,
          `Only the argument uuid of the resource ${GENERATION_URI_TEMPLATE} can be completed.`,
        );
      const found = await completeGenerationIds(caller.accountId, argument.value, COMPLETIONS_MAX + 1);
      return { completion: { values: found.slice(0, COMPLETIONS_MAX), hasMore: found.length > COMPLETIONS_MAX } };
    }),
  );
  server.setRequestHandler('resources/subscribe', ({ params: { uri } }, context) =>
    withProtocolErrors(getMcpRequestContext(context), uri, async (requestContext) => {
      const { uuid } = await readGeneration(requestContext.caller, requireGenerationId(uri));
      await subscribeSession(requireSessionId(requestContext), uuid);
      return {};
    }),
  );
  server.setRequestHandler('resources/unsubscribe', ({ params: { uri } }, context) =>
    withProtocolErrors(getMcpRequestContext(context), uri, async (requestContext) => {
      await unsubscribeSession(requireSessionId(requestContext), requireGenerationId(uri));
      return {};
    }),
  );
}

function presentResource(row: Generation) {
  const { uuid, kind, prompt, status, created_at } = presentGeneration(row);
  return {
    uri: buildGenerationUri(uuid),
    name: `${kind}-${uuid}`,
    title: `${kind === 'image' ? 'Image' : 'Video'}: ${truncateText(prompt, PROMPT_SHOWN_CHARACTERS)}`,
    description: `${status}, requested ${created_at.toISOString()}`,
    mimeType: JSON_TYPE,
    annotations: { lastModified: (row.completed_at ?? created_at).toISOString() },
  };
}

/** Encodes a cursor that is opaque to clients and never expires. */
function encodeCursor(before: number): string {
  return Buffer.from(`before-${before}`).toString('base64url');
}

function decodeCursor(cursor: string | undefined): number | undefined {
  if (cursor === undefined) return undefined;
  const number = CURSOR_PATTERN.exec(Buffer.from(cursor, 'base64url').toString())?.[1];
  if (number !== undefined) return Number(number);
  throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'cursor is not valid: list again without one.');
}

function requireGenerationId(uri: string): string {
  const uuid = parseGenerationUri(uri);
  if (uuid === null)
    throw resourceNotFoundError(uri, `Resource not found: the URI must be ${GENERATION_URI_TEMPLATE}.`);
  return uuid;
}

/** Uses the code of the versions with sessions; the library replaces it for stateless requests. */
function resourceNotFoundError(uri: string, detail: string): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.ResourceNotFound, detail, { uri });
}

function requireSessionId({ sessionId }: McpRequestContext): string {
  if (sessionId === null)
    throw new ProtocolError(
      ProtocolErrorCode.InvalidParams,
      'Subscriptions require a session: use subscriptions/listen instead.',
    );
  return sessionId;
}

/** Runs a handler and maps its errors to JSON-RPC errors, with the service's code and detail as data. */
async function withProtocolErrors<Result>(
  requestContext: McpRequestContext,
  uri: string,
  work: (requestContext: McpRequestContext) => Promise<Result>,
): Promise<Result> {
  try {
    return await work(requestContext);
  } catch (thrown) {
    if (thrown instanceof ProtocolError) throw thrown;
    const error = toServiceError(thrown, requestContext);
    recordDisconnection(requestContext, error);
    const { code, message } = error;
    if (code === 'not_found') throw resourceNotFoundError(uri, message);
    throw new ProtocolError(ProtocolErrorCode.InternalError, message, { error: code, detail: message });
  }
}
