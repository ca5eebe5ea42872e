import { listUpstreamSettings } from '../../../gateways/upstreams/index.ts';
import { now } from '../../../lib/clock.ts';
import { findActiveCallbacks } from '../../../queues/callbackActivity.ts';
import { REFRESH_INTERVAL_MS } from '../../../spec/limits.ts';

/** Delay before a poll while the call-backs of the upstream arrive: after a lost one, the next poll finds the result. */
const RARE_POLL_DELAY_MS = 8_000;

/** Lists the upstreams whose call-backs arrive. */
export function listUpstreamsWithCallbacks(): string[] {
  const configured = listUpstreamSettings().filter(({ callbacks }) => callbacks !== undefined);
  return [...findActiveCallbacks(configured.map(({ name }) => name))];
}

/** Returns the delay between two polls: `age / 5`, at least 2 and at most 8 seconds. */
export function getUsualPollDelayMs(createdAt: Date): number {
  const age = now().getTime() - createdAt.getTime();
  return Math.round(Math.min(RARE_POLL_DELAY_MS, Math.max(REFRESH_INTERVAL_MS, age / 5)) / 1_000) * 1_000;
}

/** Returns the delay between the submit of a generation and its first poll. */
export function getFirstPollDelayMs(upstream: string): number {
  return listUpstreamsWithCallbacks().includes(upstream) ? RARE_POLL_DELAY_MS : REFRESH_INTERVAL_MS;
}
