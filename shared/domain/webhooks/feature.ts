import type { DomainFeature } from '../feature.ts';
import { NOTIFICATION_INVARIANTS } from './invariants.ts';

export const WEBHOOKS: DomainFeature = {
  invariants: NOTIFICATION_INVARIANTS,
};
