import type { DomainFeature } from '../feature.ts';
import { STAFF_METRIC_INVARIANTS } from './invariants.ts';

export const PLATFORM: DomainFeature = {
  invariants: STAFF_METRIC_INVARIANTS,
};
