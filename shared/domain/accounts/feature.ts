import type { DomainFeature } from '../feature.ts';
import { API_KEY_INVARIANTS } from './invariants.ts';
import { TEST_ACCOUNT_INVARIANTS } from './testAccountInvariants.ts';

export const ACCOUNTS: DomainFeature = {
  invariants: [...API_KEY_INVARIANTS, ...TEST_ACCOUNT_INVARIANTS],
};
