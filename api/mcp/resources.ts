import { ProtocolError, ProtocolErrorCode, type Server } from '@modelcontextprotocol/server';
import { browseGenerations } from '../../shared/domain/generations/browse.ts';
import { readGeneration } from '../../shared/domain/generations/read.ts';
import type { Generation } from '../../shared/tables/Generation.ts';
import { asServiceError } from '../middleware/errors.ts';
import { presentGeneration } from '../presenters.ts';
import { type Call, callOf } from './call.ts';
import { iconOf } from './icons.ts';
import { shortened } from './results.ts';
import { GENERATION_TEMPLATE, generationIn, uriOf } from './uris.ts';
import { unwatchForSession, watchForSession } from './watch.ts';

const JSON_TYPE = 'application/json';
const CURSOR = /^before-(\d{1,15})$/;
const PROMPT_SHOWN_CHARACTERS = 60;

/** The library as resources: listed page by page, read as JSON, and watched until a generation has ended. */
export function serveResources(server: Server): void {
  server.setRequestHandler('resources/list', ({ params }, context) =>
    inProtocol(callOf(context), '', async ({ assistant }) => {
      const { items, next } = await browseGenerations(assistant.accountId, placeOf(params?.cursor));
      return { resources: items.map(resourceOf), ...(next === null ? {} : { nextCursor: cursorOf(next) }) };
    }),
  );
  server.setRequestHandler('resources/templates/list', () => ({
    resourceTemplates: [
      {
        uriTemplate: GENERATION_TEMPLATE,
        name: 'generation',
        title: 'A generation',
        description: 'An image or video of the account: what was asked for, its status, and where to download it.',
        mimeType: JSON_TYPE,
        icons: [iconOf('generation')],
      },
    ],
  }));
  server.setRequestHandler('resources/read', ({ params: { uri } }, context) =>
    inProtocol(callOf(context), uri, async (call) => {
      const generation = presentGeneration(await readGeneration(call.assistant, idIn(uri)));
      return { contents: [{ uri, mimeType: JSON_TYPE, text: JSON.stringify(generation) }] };
    }),
  );
  server.setRequestHandler('resources/subscribe', ({ params: { uri } }, context) =>
    inProtocol(callOf(context), uri, async (call) => {
      const { uuid } = await readGeneration(call.assistant, idIn(uri));
      await watchForSession(sessionOf(call), uuid);
      return {};
    }),
  );
  server.setRequestHandler('resources/unsubscribe', ({ params: { uri } }, context) =>
    inProtocol(callOf(context), uri, async (call) => {
      await unwatchForSession(sessionOf(call), idIn(uri));
      return {};
    }),
  );
}

function resourceOf(row: Generation) {
  const { uuid, kind, prompt, status, created_at } = presentGeneration(row);
  return {
    uri: uriOf(uuid),
    name: `${kind}-${uuid}`,
    title: `${kind === 'image' ? 'Image' : 'Video'}: ${shortened(prompt, PROMPT_SHOWN_CHARACTERS)}`,
    description: `${status}, ordered ${created_at.toISOString()}`,
    mimeType: JSON_TYPE,
    annotations: { lastModified: (row.completed_at ?? created_at).toISOString() },
  };
}

/** Opaque to clients, and good for as long as the library is. */
function cursorOf(before: number): string {
  return Buffer.from(`before-${before}`).toString('base64url');
}

function placeOf(cursor: string | undefined): number | undefined {
  if (cursor === undefined) return undefined;
  const number = CURSOR.exec(Buffer.from(cursor, 'base64url').toString())?.[1];
  if (number !== undefined) return Number(number);
  throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'cursor: begin again without one; this is none of ours.');
}

function idIn(uri: string): string {
  const uuid = generationIn(uri);
  if (uuid === null) throw notFound(uri, `There is no such resource: write ${GENERATION_TEMPLATE}.`);
  return uuid;
}

/** The code that the versions with sessions have for it; the library puts that of the stateless one in its place. */
function notFound(uri: string, detail: string): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.ResourceNotFound, detail, { uri });
}

function sessionOf({ sessionId }: Call): string {
  if (sessionId === null) throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'Subscriptions need a session.');
  return sessionId;
}

/** Runs what a request is about; what goes wrong is a JSON-RPC error, with our code and sentence in its data. */
async function inProtocol<Result>(call: Call, uri: string, work: (call: Call) => Promise<Result>): Promise<Result> {
  try {
    return await work(call);
  } catch (thrown) {
    if (thrown instanceof ProtocolError) throw thrown;
    const { code, message } = asServiceError(thrown, call);
    if (code === 'not_found') throw notFound(uri, message);
    throw new ProtocolError(ProtocolErrorCode.InternalError, message, { error: code, detail: message });
  }
}
