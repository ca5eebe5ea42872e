import type { DomainFeature } from '../feature.ts';
import { STAFF_ACTION_INVARIANTS, SUSPENSION_INVARIANTS } from './invariants.ts';

export const AUDIT: DomainFeature = {
  invariants: [...STAFF_ACTION_INVARIANTS, ...SUSPENSION_INVARIANTS],
};
