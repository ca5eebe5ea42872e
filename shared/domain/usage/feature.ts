import type { DomainFeature } from '../feature.ts';
import { USAGE_INVARIANTS } from './invariants.ts';

export const USAGE: DomainFeature = {
  invariants: USAGE_INVARIANTS,
};
