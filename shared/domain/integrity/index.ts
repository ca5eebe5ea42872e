/**
 * Invariants of the database, one named query each. None needs the configuration or a connection of the service, so
 * that any caller with a connection can check the database behind it.
 */
export { INVARIANTS } from '../features.ts';
export {
  type CheckResult,
  checkEach,
  checkInvariants,
  type CheckOptions,
  findViolations,
  withReadOnlySnapshot,
  VIOLATIONS_MAX,
} from './checkInvariants.ts';
export { readAccountHistory } from './accountHistory.ts';
export type { Invariant, Queryable, Violation } from '../invariant.ts';
