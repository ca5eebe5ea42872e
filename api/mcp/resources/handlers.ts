import { ProtocolError, ProtocolErrorCode, type Server } from '@modelcontextprotocol/server';
import { listGenerationsByCursor } from '../../../shared/domain/generations/listByCursor.ts';
import { readGeneration } from '../../../shared/domain/generations/read.ts';
import type { Generation } from '../../../shared/tables/Generation.ts';
import { toServiceError } from '../../pipeline/errors.ts';
import { presentGeneration } from '../../rest/generations/presenter.ts';
import { type McpRequestContext, getMcpRequestContext } from '../requestContext.ts';
import { buildIcon } from '../icons.ts';
import { truncateText } from '../tools/results.ts';
import { GENERATION_URI_TEMPLATE, parseGenerationUri, buildGenerationUri } from './generationUri.ts';
import { unsubscribeSession, subscribeSession } from './subscriptions.ts';

const JSON_TYPE = 'application/json';
const CURSOR_PATTERN = /^before-(\d{1,15})$/;
const PROMPT_SHOWN_CHARACTERS = 60;

/** The library as resources: listed page by page, read as JSON, and watched until a generation has ended. */
export function registerResourceHandlers(server: Server): void {
  server.setRequestHandler('resources/list', ({ params }, context) =>
    withProtocolErrors(getMcpRequestContext(context), '', async ({ principal }) => {
      const { items, next } = await listGenerationsByCursor(principal.accountId, decodeCursor(params?.cursor));
      return { resources: items.map(presentResource), ...(next === null ? {} : { nextCursor: encodeCursor(next) }) };
    }),
  );
  server.setRequestHandler('resources/templates/list', () => ({
    resourceTemplates: [
      {
        uriTemplate: GENERATION_URI_TEMPLATE,
        name: 'generation',
        title: 'A generation',
        description: 'An image or video of the account: what was asked for, its status, and where to download it.',
        mimeType: JSON_TYPE,
        icons: [buildIcon('generation')],
      },
    ],
  }));
  server.setRequestHandler('resources/read', ({ params: { uri } }, context) =>
    withProtocolErrors(getMcpRequestContext(context), uri, async (call) => {
      const generation = presentGeneration(await readGeneration(call.principal, requireGenerationId(uri)));
      return { contents: [{ uri, mimeType: JSON_TYPE, text: JSON.stringify(generation) }] };
    }),
  );
  server.setRequestHandler('resources/subscribe', ({ params: { uri } }, context) =>
    withProtocolErrors(getMcpRequestContext(context), uri, async (call) => {
      const { uuid } = await readGeneration(call.principal, requireGenerationId(uri));
      await subscribeSession(requireSessionId(call), uuid);
      return {};
    }),
  );
  server.setRequestHandler('resources/unsubscribe', ({ params: { uri } }, context) =>
    withProtocolErrors(getMcpRequestContext(context), uri, async (call) => {
      await unsubscribeSession(requireSessionId(call), requireGenerationId(uri));
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
    description: `${status}, ordered ${created_at.toISOString()}`,
    mimeType: JSON_TYPE,
    annotations: { lastModified: (row.completed_at ?? created_at).toISOString() },
  };
}

/** Opaque to clients, and good for as long as the library is. */
function encodeCursor(before: number): string {
  return Buffer.from(`before-${before}`).toString('base64url');
}

function decodeCursor(cursor: string | undefined): number | undefined {
  if (cursor === undefined) return undefined;
  const number = CURSOR_PATTERN.exec(Buffer.from(cursor, 'base64url').toString())?.[1];
  if (number !== undefined) return Number(number);
  throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'cursor: begin again without one; this is none of ours.');
}

function requireGenerationId(uri: string): string {
  const uuid = parseGenerationUri(uri);
  if (uuid === null) throw resourceNotFoundError(uri, `There is no such resource: write ${GENERATION_URI_TEMPLATE}.`);
  return uuid;
}

/** The code that the versions with sessions have for it; the library puts that of the stateless one in its place. */
function resourceNotFoundError(uri: string, detail: string): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.ResourceNotFound, detail, { uri });
}

function requireSessionId({ sessionId }: McpRequestContext): string {
  if (sessionId === null) throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'Subscriptions need a session.');
  return sessionId;
}

/** Runs what a request is about; what goes wrong is a JSON-RPC error, with our code and sentence in its data. */
async function withProtocolErrors<Result>(
  requestContext: McpRequestContext,
  uri: string,
  work: (requestContext: McpRequestContext) => Promise<Result>,
): Promise<Result> {
  try {
    return await work(requestContext);
  } catch (thrown) {
    if (thrown instanceof ProtocolError) throw thrown;
    const { code, message } = toServiceError(thrown, requestContext);
    if (code === 'not_found') throw resourceNotFoundError(uri, message);
    throw new ProtocolError(ProtocolErrorCode.InternalError, message, { error: code, detail: message });
  }
}
