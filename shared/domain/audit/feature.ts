import type { DomainFeature } from '../feature.ts';
import { STAFF_ACTION_INVARIANTS } from './invariants.ts';
import { SUSPENSION_INVARIANTS } from './suspensionInvariants.ts';

export const AUDIT: DomainFeature = {
  invariants: [...STAFF_ACTION_INVARIANTS, ...SUSPENSION_INVARIANTS],
};
