import type { SqlFunction } from '../lib/database/sqlFunctions.ts';
import type { Invariant } from './invariant.ts';

/** Entries of a subject in the lists that cover all subjects. `features.ts` builds those. */
export interface DomainFeature {
  /** Functions that a release installs, a called one before its callers. */
  sqlFunctions?: readonly SqlFunction[];
  invariants?: readonly Invariant[];
}
