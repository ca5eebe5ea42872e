import type { Operations } from './operation.ts';
import { API_KEY_AND_USAGE_OPERATIONS } from '../apiKeys/openapi.ts';
import { AFFILIATE_OPERATIONS } from '../affiliate/openapi.ts';
import { BILLING_OPERATIONS } from '../billing/openapi.ts';
import { GENERATION_OPERATIONS } from '../generations/openapi.ts';
import { SERVICE_OPERATIONS } from '../health/openapi.ts';
import { SESSION_OPERATIONS } from '../session/openapi.ts';
import { ADMIN_OPERATIONS } from '../admin/openapi.ts';

/** Descriptions of all REST routes. A test fails for a route without an entry. */
export const OPERATIONS: Operations = {
  ...GENERATION_OPERATIONS,
  ...API_KEY_AND_USAGE_OPERATIONS,
  ...BILLING_OPERATIONS,
  ...AFFILIATE_OPERATIONS,
  ...ADMIN_OPERATIONS,
  ...SESSION_OPERATIONS,
  ...SERVICE_OPERATIONS,
};
