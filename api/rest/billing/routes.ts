import { perService } from '../../../shared/lib/serviceScope.ts';
import { getOfferedPlans } from '../../../shared/lib/catalog/offeredPlans.ts';
import { startPlanCheckout } from '../../../shared/domain/billing/checkout.ts';
import { openCustomerPortal } from '../../../shared/domain/billing/portal.ts';
import { updateAutoTopupSettings, getAutoTopupSettings } from '../../../shared/domain/billing/autoTopupSettings.ts';
import { listInvoices } from '../../../shared/domain/billing/invoices.ts';
import { startTopupCheckout } from '../../../shared/domain/billing/topups.ts';
import { getBillingStatus } from '../../../shared/domain/billing/billingStatus.ts';
import { createBodyParser } from '../../../shared/lib/validation/bodyParser.ts';
import { requireCaller, type Context } from '../../context.ts';
import { getJsonBody } from '../../pipeline/body.ts';
import { withIdempotency } from '../../pipeline/idempotency.ts';
import { parsePage } from '../../pipeline/requestParameters.ts';
import { presentPage } from '../pagination.ts';
import { presentCheckout, presentInvoice, presentPlan, presentTopupSettings } from './presenter.ts';
import { presentBillingStatus } from '../../../shared/presenters/billingStatus.ts';
import { getCheckoutRequest, TopupRequest, TopupSettingsRequest } from './schemas.ts';

const parseCheckout = perService(() => createBodyParser(getCheckoutRequest()));
const parseTopup = createBodyParser(TopupRequest);
const parseSettings = createBodyParser(TopupSettingsRequest);

export function plans(ctx: Context): void {
  ctx.body = getOfferedPlans().map(presentPlan);
}

export async function status(ctx: Context): Promise<void> {
  ctx.body = presentBillingStatus(await getBillingStatus(requireCaller(ctx).accountId));
}

export async function checkout(ctx: Context): Promise<void> {
  const { plan } = parseCheckout()(getJsonBody(ctx));
  const { accountId } = requireCaller(ctx);
  ctx.body = await withIdempotency(ctx, 'billing.checkout', { plan }, async (id) =>
    presentCheckout(await startPlanCheckout(accountId, plan, id)),
  );
}

export async function portal(ctx: Context): Promise<void> {
  ctx.body = { portal_url: await openCustomerPortal(requireCaller(ctx).accountId) };
}

export async function invoices(ctx: Context): Promise<void> {
  const page = await listInvoices(requireCaller(ctx).accountId, parsePage(ctx));
  ctx.body = presentPage(page, '/api/billing/invoices/', presentInvoice);
}

export async function readTopupSettings(ctx: Context): Promise<void> {
  ctx.body = presentTopupSettings(await getAutoTopupSettings(requireCaller(ctx).accountId));
}

export async function updateTopupSettings(ctx: Context): Promise<void> {
  const change = parseSettings(getJsonBody(ctx));
  ctx.body = presentTopupSettings(await updateAutoTopupSettings(requireCaller(ctx).accountId, change));
}

export async function topup(ctx: Context): Promise<void> {
  const { amount_cents: amountCents } = parseTopup(getJsonBody(ctx));
  const { accountId } = requireCaller(ctx);
  ctx.body = await withIdempotency(ctx, 'billing.topup', { amountCents }, async (id) =>
    presentCheckout(await startTopupCheckout(accountId, amountCents, id)),
  );
}
