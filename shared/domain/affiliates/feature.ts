import type { DomainFeature } from '../feature.ts';
import { AFFILIATE_INVARIANTS } from './invariants.ts';

export const AFFILIATES: DomainFeature = {
  invariants: AFFILIATE_INVARIANTS,
};
