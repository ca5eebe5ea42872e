import type { IncomingHttpHeaders } from 'node:http';
import { now } from '../../../lib/clock.ts';
import { tryParseBoundedJson } from '../../../lib/boundedJson.ts';
import type { AdapterName } from '../modelPresets.ts';
import { getField, isSafeString } from '../responses.ts';
import type { UpstreamSettings } from '../upstreamSettings.ts';
import { falCallbacks } from './fal.ts';
import { replicateCallbacks } from './replicate.ts';
import type { CallbackProtocol, CallbackRequest } from './callbackProtocol.ts';
import { verifyWithKeys } from './verificationKeys.ts';

const PROTOCOLS: Record<Exclude<AdapterName, 'openai'>, CallbackProtocol> = {
  fal: falCallbacks,
  replicate: replicateCallbacks,
};

/** Difference between the time of a signature and ours from which a call-back is rejected, as its providers advise. */
const TOLERANCE_SECONDS = 300;

function getProtocol({ adapter }: UpstreamSettings): CallbackProtocol {
  if (adapter === 'openai') throw new Error('This protocol has no call-backs.');
  return PROTOCOLS[adapter];
}

/** Returns true if the headers are well-formed and the signature is recent. Verifying it requires the body. */
export function isRecentCallback(upstream: UpstreamSettings, headers: IncomingHttpHeaders): boolean {
  const timestamp = getProtocol(upstream).readTimestamp(headers);
  return timestamp !== undefined && Math.abs(now().getTime() / 1_000 - timestamp) <= TOLERANCE_SECONDS;
}

/**
 * Verifies the signature of a call-back.
 * @returns the id of the job that it is about; undefined if the signature is not the upstream's, or there is no id.
 * @throws UpstreamError unavailable if the upstream's keys are not available.
 */
export async function verifyCallback(
  upstream: UpstreamSettings,
  request: CallbackRequest,
): Promise<string | undefined> {
  const { callbacks } = upstream;
  if (callbacks === undefined) return undefined;
  const protocol = getProtocol(upstream);
  const isGenuine = await verifyWithKeys({ ...upstream, callbacks }, (keys) => protocol.verify(request, keys));
  return isGenuine ? readJobId(request.body, protocol.idField) : undefined;
}

function readJobId(body: Buffer, field: string): string | undefined {
  const id = getField(tryParseBoundedJson(body.toString()), field);
  return isSafeString(id) ? id : undefined;
}
