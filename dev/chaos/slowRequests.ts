import { AUTO_TOPUP_WAIT_TIMEOUT_MS } from '../../shared/domain/billing/autoTopupRule.ts';
import type { Violation } from '../../shared/domain/invariant.ts';
import type { InjectedFault } from './injectFaults.ts';
import type { ClientRequest } from './clients/journal.ts';
import type { SpeedWatch, Stall } from './machineWatch.ts';
import { violate } from './rules.ts';

/** Maximum duration of a request during an outage of a database, on an unloaded machine. */
export const DATABASE_RESPONSE_LIMIT_MS = 5_000;
/** Tolerance for changes between two measurements of the machine's speed. */
const SPEED_MARGIN_MS = 1_000;
/** Requests that wait only for the databases. */
export const DATABASE_REQUEST_KINDS = /^(create|read|list|ledger|usage|delete|cancel|make|revoke|change key)/;

/**
 * Requests that took longer than guaranteed while a database was unavailable, by more than the machine was slowed down.
 * Leaves out requests that something else delayed at the same time: a paused or starting process, a closed proxy, this
 * machine. Creates may also wait for the automatic top-up of another create.
 */
export function findSlowRequests(
  requests: readonly ClientRequest[],
  done: readonly InjectedFault[],
  addresses: readonly string[],
  stalls: readonly Stall[],
  speed: SpeedWatch,
): Violation[] {
  return requests
    .filter(({ kind, durationMs }) => durationMs > DATABASE_RESPONSE_LIMIT_MS && DATABASE_REQUEST_KINDS.test(kind))
    .filter((request) => {
      const limitMs = getLimitMs(request, speed) + getTopupWaitMs(request, done);
      const api = `api ${addresses.indexOf(request.address) + 1}`;
      const meanwhile = done.filter((fault) => overlaps(fault, request));
      const wentAt = Math.min(...meanwhile.filter(({ name }) => /Postgres|Redis/.test(name)).map(({ from }) => from));
      const isDatabase = request.at + request.durationMs - Math.max(request.at, wentAt) > limitMs;
      const isOther = meanwhile.some(
        ({ name, target }) =>
          /^(day|month) change$/.test(name) ||
          isPaymentFault(name) ||
          name === 'moderation fails' ||
          (target === api && /process|client|clock/.test(name)),
      );
      return isDatabase && !isOther && !stalls.some((stall) => overlaps(stall, request));
    })
    .map(({ kind, at, address, durationMs, status }) => {
      const meanwhile = done.filter((fault) => overlaps(fault, { at, durationMs }));
      const faults = meanwhile.map(({ name, target }) => `${name} (${target})`).join(', ');
      const api = addresses.indexOf(address) + 1;
      const detail = `${status} after ${Math.round(durationMs)} ms at api ${api}, during ${faults}`;
      return violate('responds-in-time', null, `${kind} at ${new Date(at).toISOString()}`, detail);
    });
}

function getLimitMs({ at, durationMs }: ClientRequest, speed: SpeedWatch): number {
  return DATABASE_RESPONSE_LIMIT_MS * speed.slownessBetween(at, at + durationMs) + SPEED_MARGIN_MS;
}

const isPaymentFault = (name: string) => name.startsWith('Stripe') || name === 'charge responses lost';

/**
 * Returns how long a create may wait for an automatic top-up whose outcome is unknown: one that says so in its
 * response, or whose top-up a fault of payments before it may have affected.
 */
function getTopupWaitMs(request: ClientRequest, done: readonly InjectedFault[]): number {
  if (request.isTopupUnknown) return AUTO_TOPUP_WAIT_TIMEOUT_MS;
  const isWaiting =
    /^create( with a limit)?$/.test(request.kind) &&
    done.some(
      ({ name, from, to }) =>
        isPaymentFault(name) && overlaps({ from, to: to + 2 * AUTO_TOPUP_WAIT_TIMEOUT_MS }, request),
    );
  return isWaiting ? AUTO_TOPUP_WAIT_TIMEOUT_MS : 0;
}

function overlaps({ from, to }: Stall, { at, durationMs }: Pick<ClientRequest, 'at' | 'durationMs'>): boolean {
  return from < at + durationMs && to + 3_000 > at;
}
