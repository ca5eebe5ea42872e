import { activatePlan, billingStatus } from '../../shared/domain/subscriptions.ts';
import { bodyParser } from '../../shared/lib/validate.ts';
import { PLANS } from '../../shared/spec/plans.ts';
import { callerOf, type Context } from '../context.ts';
import { bodyOf } from '../middleware/body.ts';
import { presentBillingStatus, presentPlan } from '../presenters.ts';
import { Checkout } from '../schemas.ts';

const parseCheckout = bodyParser(Checkout);

export function plans(ctx: Context): void {
  ctx.body = PLANS.map(presentPlan);
}

export async function status(ctx: Context): Promise<void> {
  ctx.body = presentBillingStatus(await billingStatus(callerOf(ctx).accountId));
}

/** Keyless: there is no page to pay on, the plan is active when this answers. */
export async function checkout(ctx: Context): Promise<void> {
  const { plan } = parseCheckout(bodyOf(ctx));
  await activatePlan(callerOf(ctx).accountId, plan);
  ctx.body = { checkout_url: null, activated: true };
}

/** Keyless: there is no portal. */
export function portal(ctx: Context): void {
  ctx.body = { portal_url: null };
}
