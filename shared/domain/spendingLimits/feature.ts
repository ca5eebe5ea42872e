import type { DomainFeature } from '../feature.ts';
import { SPENDING_LIMIT_INVARIANTS } from './invariants.ts';

export const SPENDING_LIMITS: DomainFeature = {
  invariants: SPENDING_LIMIT_INVARIANTS,
};
