/**
 * Invariants of the database, one named query each. Nothing here reads the configuration or opens a connection, so that
 * any caller with a connection can check the database behind it.
 */
export { INVARIANTS } from './allInvariants.ts';
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
export type { Invariant, Queryable, Violation } from './invariant.ts';
