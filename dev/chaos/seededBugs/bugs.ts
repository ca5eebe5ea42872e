import { BILLING_BUGS } from './billingBugs.ts';
import { GENERATION_BUGS } from './generationBugs.ts';
import { KEY_BUGS } from './keyBugs.ts';
import { LIMIT_BUGS } from './limitBugs.ts';
import type { SeededBug } from './seededBug.ts';
import { SUBSCRIPTION_BUGS } from './subscriptionBugs.ts';
import { WEBHOOK_BUGS } from './webhookBugs.ts';

export const SEEDED_BUGS: readonly SeededBug[] = [
  ...GENERATION_BUGS,
  ...KEY_BUGS,
  ...LIMIT_BUGS,
  ...BILLING_BUGS,
  ...SUBSCRIPTION_BUGS,
  ...WEBHOOK_BUGS,
];
