import { checkout as openCheckout, portal as openPortal } from '../../shared/domain/billing/checkout.ts';
import { changeTopupSettings, topupSettings } from '../../shared/domain/billing/settings.ts';
import { topUp } from '../../shared/domain/billing/topups.ts';
import { billingStatus } from '../../shared/domain/subscriptions.ts';
import { bodyParser } from '../../shared/lib/validate.ts';
import { PLANS } from '../../shared/spec/plans.ts';
import { callerOf, type Context } from '../context.ts';
import { bodyOf } from '../middleware/body.ts';
import { idempotently } from '../middleware/idempotencyKey.ts';
import { presentBillingStatus, presentCheckout, presentPlan, presentTopupSettings } from '../presenters.ts';
import { Checkout, Topup, TopupSettings } from '../schemas.ts';

const parseCheckout = bodyParser(Checkout);
const parseTopup = bodyParser(Topup);
const parseSettings = bodyParser(TopupSettings);

export function plans(ctx: Context): void {
  ctx.body = PLANS.map(presentPlan);
}

export async function status(ctx: Context): Promise<void> {
  ctx.body = presentBillingStatus(await billingStatus(callerOf(ctx).accountId));
}

export async function checkout(ctx: Context): Promise<void> {
  const { plan } = parseCheckout(bodyOf(ctx));
  const { accountId } = callerOf(ctx);
  ctx.body = await idempotently(ctx, 'billing.checkout', { plan }, async (id) =>
    presentCheckout(await openCheckout(accountId, plan, id)),
  );
}

export async function portal(ctx: Context): Promise<void> {
  ctx.body = { portal_url: await openPortal(callerOf(ctx).accountId) };
}

export async function readTopupSettings(ctx: Context): Promise<void> {
  ctx.body = presentTopupSettings(await topupSettings(callerOf(ctx).accountId));
}

export async function updateTopupSettings(ctx: Context): Promise<void> {
  const change = parseSettings(bodyOf(ctx));
  ctx.body = presentTopupSettings(await changeTopupSettings(callerOf(ctx).accountId, change));
}

export async function topup(ctx: Context): Promise<void> {
  const { amount_cents: amountCents } = parseTopup(bodyOf(ctx));
  const { accountId } = callerOf(ctx);
  ctx.body = await idempotently(ctx, 'billing.topup', { amountCents }, async (id) =>
    presentCheckout(await topUp(accountId, amountCents, id)),
  );
}
