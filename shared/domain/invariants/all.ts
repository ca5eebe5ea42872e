import { AFFILIATES } from './affiliates.ts';
import { CREDITS } from './credits.ts';
import { GENERATIONS } from './generations.ts';
import { GRANTS } from './grants.ts';
import type { Invariant } from './invariant.ts';
import { KEYS } from './keys.ts';
import { METRICS } from './metrics.ts';
import { SUBSCRIPTIONS } from './subscriptions.ts';
import { TOPUPS } from './topups.ts';
import { USAGE } from './usage.ts';

/** All of them, in the order in which they are checked and told. */
export const INVARIANTS: readonly Invariant[] = [
  ...CREDITS,
  ...GENERATIONS,
  ...SUBSCRIPTIONS,
  ...GRANTS,
  ...TOPUPS,
  ...AFFILIATES,
  ...KEYS,
  ...USAGE,
  ...METRICS,
];
