import type { ProtocolHandler, SampleContext } from './protocol.ts';
import { createFalProtocol } from './falProtocol.ts';
import { createOpenaiProtocol } from './openaiProtocol.ts';
import { createReplicateProtocol } from './replicateProtocol.ts';

const FILE_PATH = /^\/files\/([^/]+)$/;
const REPLICATE_PATH = /^\/v1\/(predictions|models\/[^/]+\/[^/]+)(\/|$)/;

/** Routes requests: rendered files, without a key; OpenAI and Replicate under `/v1`; everything else is fal's. */
export function createRouter(surroundings: SampleContext): ProtocolHandler {
  const fal = createFalProtocol(surroundings);
  const openai = createOpenaiProtocol(surroundings);
  const replicate = createReplicateProtocol(surroundings);
  return async (question) => {
    const { method, path } = question;
    const isRead = method === 'GET' || method === 'HEAD';
    const file = FILE_PATH.exec(path)?.[1];
    if (file !== undefined && isRead) return { file };
    if (path === '/' && isRead) return { status: 200, body: { service: 'sample upstream' } };
    if (REPLICATE_PATH.test(path)) return replicate(question);
    return path.startsWith('/v1/') ? openai(question) : fal(question);
  };
}
