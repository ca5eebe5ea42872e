import { BILLING_BUGS } from './billingBugs.ts';
import { GENERATION_BUGS } from './generationBugs.ts';
import type { SeededBug } from './seededBug.ts';

export const SEEDED_BUGS: readonly SeededBug[] = [...GENERATION_BUGS, ...BILLING_BUGS];
