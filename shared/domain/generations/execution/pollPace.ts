import { listUpstreamSettings } from '../../../gateways/upstreams/index.ts';
import { findActiveCallbacks } from '../../../queues/callbackActivity.ts';
import { REFRESH_INTERVAL_MS } from '../../../spec/limits.ts';

/** Polls are this many times less frequent while the call-backs of the upstream arrive. */
export const CALLBACK_POLL_FACTOR = 4;

/** Returns the upstreams whose call-backs arrive. Never rejects. */
export async function listUpstreamsWithCallbacks(): Promise<string[]> {
  const configured = listUpstreamSettings().filter(({ callbacks }) => callbacks !== undefined);
  if (configured.length === 0) return [];
  return [...(await findActiveCallbacks(configured.map(({ name }) => name)))];
}

/** Returns the delay between the submit of a generation and its first poll. */
export async function getFirstPollDelayMs(upstream: string): Promise<number> {
  const isRare = (await listUpstreamsWithCallbacks()).includes(upstream);
  return isRare ? CALLBACK_POLL_FACTOR * REFRESH_INTERVAL_MS : REFRESH_INTERVAL_MS;
}
