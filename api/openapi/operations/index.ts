import type { Operations } from '../operation.ts';
import { ACCOUNT } from './account.ts';
import { AFFILIATE } from './affiliate.ts';
import { BILLING } from './billing.ts';
import { GENERATIONS } from './generations.ts';
import { META } from './meta.ts';
import { SESSION } from './session.ts';
import { STAFF } from './staff.ts';

/** What there is to say of each address of the REST interface. One without its entry here fails the tests. */
export const OPERATIONS: Operations = {
  ...GENERATIONS,
  ...ACCOUNT,
  ...BILLING,
  ...AFFILIATE,
  ...STAFF,
  ...SESSION,
  ...META,
};
