import { perService } from '../../../../shared/lib/serviceScope.ts';
import { openCustomerPortal, startPlanCheckout } from '../../../../shared/domain/billing/checkout.ts';
import { updateAutoTopupSettings } from '../../../../shared/domain/billing/autoTopupSettings.ts';
import { getInvoiceUrl } from '../../../../shared/domain/billing/invoices.ts';
import { startTopupCheckout } from '../../../../shared/domain/billing/topups.ts';
import { formatLocalUsd } from '../../../../shared/lib/localFormats.ts';
import { createBodyParser } from '../../../../shared/lib/validation/bodyParser.ts';
import { ServiceError } from '../../../../shared/spec/errors.ts';
import { TOPUP_MAX_CENTS, TOPUP_MIN_CENTS } from '../../../../shared/spec/limits.ts';
import { requireCaller, type Context } from '../../../context.ts';
import { getForm } from '../../../pipeline/body.ts';
import { executeFormOnce } from '../../../pipeline/idempotency.ts';
import { getRequestOrigin } from '../../../pipeline/requestOrigin.ts';
import { seeOther } from '../../../pipeline/redirect.ts';
import { parseUuidParam } from '../../../pipeline/requestParameters.ts';
import { getCheckoutRequest } from '../schemas.ts';
import { sendRedirectPage } from '../../../web/components/redirectPage.tsx';
import { readFormerState } from '../../../web/components/editForm.tsx';
import { showErrorsOn } from '../../../web/components/showErrorsOn.ts';
import { t } from '../../../web/texts.ts';
import { BILLING_PATH, type BillingOutcome, OTHER_AMOUNT, renderBillingPage } from './view.tsx';

const DOLLARS = /^\d{1,6}(?:\.\d{1,2})?$/;
const CREDITS = /^\d{1,9}$/;

const parsePlanForm = perService(() => createBodyParser(getCheckoutRequest()));
const withBillingErrors = showErrorsOn(renderBillingPage);

export const showBillingPage = withBillingErrors(renderBillingPage);

export const choosePlan = withBillingErrors(async (ctx) => {
  const caller = requireCaller(ctx);
  const { plan } = parsePlanForm()({ plan: getForm(ctx).get('plan') ?? undefined });
  const { url } = await executeFormOnce(ctx, 'account.plan', { plan }, async (id) => ({
    url: await startPlanCheckout(caller, plan, id, getRequestOrigin(ctx)),
  }));
  leadToPayment(ctx, url, 'plan');
});

export const openBillingPortal = withBillingErrors(async (ctx) => {
  const url = await openCustomerPortal(requireCaller(ctx), getRequestOrigin(ctx));
  if (url === null)
    throw new ServiceError(
      'validation_error',
      'The billing portal is not available: this service has no payment processor.',
    );
  sendRedirectPage(ctx, url, t.redirectToProcessor());
});

/** Redirects to the page of an invoice at the payment processor, or back if there is none. */
export const openInvoice = withBillingErrors(async (ctx) => {
  seeOther(ctx, (await getInvoiceUrl(requireCaller(ctx).accountId, parseUuidParam(ctx))) ?? BILLING_PATH);
});

export const buyCredits = withBillingErrors(async (ctx) => {
  const caller = requireCaller(ctx);
  const request = { amountCents: parseTopupCents(readTopupDollars(getForm(ctx))) };
  const { url } = await executeFormOnce(ctx, 'account.topup', request, async (id) => ({
    url: await startTopupCheckout(caller, request.amountCents, id),
  }));
  leadToPayment(ctx, url, 'topup');
});

export const saveAutoTopup = withBillingErrors(async (ctx) => {
  const form = getForm(ctx);
  const threshold = form.get('threshold') ?? '';
  if (!CREDITS.test(threshold))
    throw new ServiceError('validation_error', 'The balance for automatic top-ups must be a whole number of credits.', {
      field: 'threshold',
    });
  const isEnabled = form.has('enabled');
  const patch = {
    auto_topup_enabled: isEnabled,
    auto_topup_amount_cents: parseTopupCents(form.get('amount')),
    auto_topup_threshold_credits: Number(threshold),
    expected: readFormerState(form),
  };
  await updateAutoTopupSettings(requireCaller(ctx), patch, getRequestOrigin(ctx));
  redirectWithOutcome(ctx, isEnabled ? 'auto-topup-on' : 'auto-topup-off');
});

/** Sends the browser to the page to pay at, or back if nothing has to be paid. */
function leadToPayment(ctx: Context, url: string | null, done: BillingOutcome): void {
  if (url === null) redirectWithOutcome(ctx, done);
  else sendRedirectPage(ctx, url, t.redirectToProcessor());
}

function redirectWithOutcome(ctx: Context, code: BillingOutcome): void {
  seeOther(ctx, `${BILLING_PATH}?done=${code}`);
}

/**
 * Reads the amount of the top-up form. An amount that was entered beside a chosen one is not guessed at.
 * @throws ServiceError validation_error
 */
function readTopupDollars(form: URLSearchParams): string | null {
  const [preset, amount] = [form.get('preset'), form.get('amount') ?? ''];
  if (preset === null || preset === OTHER_AMOUNT) return amount;
  if (amount === '' || amount === preset) return preset;
  throw new ServiceError(
    'validation_error',
    'You chose one amount and entered another. Choose “Other amount” to buy for the amount that you enter.',
    { field: 'amount' },
  );
}

/** @throws ServiceError validation_error */
function parseTopupCents(dollars: string | null): number {
  const cents = dollars !== null && DOLLARS.test(dollars) ? Math.round(100 * Number(dollars)) : 0;
  if (cents >= TOPUP_MIN_CENTS && cents <= TOPUP_MAX_CENTS) return cents;
  throw new ServiceError(
    'validation_error',
    `The amount of a top-up must be between ${formatLocalUsd('en', TOPUP_MIN_CENTS)} and ${formatLocalUsd('en', TOPUP_MAX_CENTS)}.`,
    { field: 'amount' },
  );
}
