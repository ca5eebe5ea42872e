import { PROBE_STALE_MS } from '../../spec/limits.ts';
import type { UpstreamHealth } from '../../tables/UpstreamHealth.ts';

/** Health of a choice. */
export interface HealthState {
  /** Null if it is no longer a choice of its model, or was never checked. */
  health: UpstreamHealth | null;
  /** True if no worker has checked it for a while. */
  isStale: boolean;
  isCircuitOpen: boolean;
}

/** Returns the state of a choice at a time, by its row. */
export function toHealthState(row: UpstreamHealth | null, at: Date): HealthState {
  return {
    health: row,
    isStale: row !== null && at.getTime() - row.probed_at.getTime() >= PROBE_STALE_MS,
    isCircuitOpen: row !== null && row.circuit_open_until !== null && row.circuit_open_until > at,
  };
}
