import type { DomainFeature } from '../feature.ts';
import { CHARGE_GENERATIONS, DECIDE_CREATES } from './chargeFunctions.ts';
import { CANCEL_GENERATION, COMPLETE_GENERATIONS, FAIL_GENERATIONS } from './execution/completeOrFail.ts';
import { GENERATION_INVARIANTS } from './invariants.ts';

export const GENERATIONS: DomainFeature = {
  sqlFunctions: [DECIDE_CREATES, CHARGE_GENERATIONS, COMPLETE_GENERATIONS, FAIL_GENERATIONS, CANCEL_GENERATION],
  invariants: GENERATION_INVARIANTS,
};
