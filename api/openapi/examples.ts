import { getExampleRequest } from '../../shared/lib/catalog/exampleRequests.ts';
import { getExamplePlan } from '../../shared/lib/catalog/catalog.ts';
import { presentAccountPlan } from '../../shared/presenters/billingStatus.ts';

/** Examples that several operations share. */
export const EXAMPLE_UUID = '01939b6e-5c1f-7a4d-9e0b-3f1d2c4b5a69';
export const EXAMPLE_TIMESTAMP = '2026-11-21T09:30:00.000Z';

/** Returns the plan of an account. */
export const getExampleAccountPlan = () => presentAccountPlan(getExamplePlan());

/** Returns the price of the example request, and the credits before and after it. */
export function getExampleCharge() {
  const { model, credits } = getExampleRequest();
  const granted = Math.max(1_100, credits);
  return { model, credits, granted, balance: granted - credits };
}
