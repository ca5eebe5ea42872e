import type { Static } from 'typebox';
import type { AutoTopupSettings } from '../../../shared/domain/billing/autoTopupSettings.ts';
import { presentAs } from '../../../shared/presenters/fields.ts';
import type { Plan } from '../../../shared/spec/plans.ts';
import type { Invoice } from '../../../shared/tables/Invoice.ts';
import { type CheckoutResponse, InvoiceResponse, type getPlanResponse, type TopupSettingsResponse } from './schemas.ts';

export function presentPlan(plan: Plan): Static<ReturnType<typeof getPlanResponse>> {
  return {
    slug: plan.slug,
    name: plan.name,
    price_monthly_cents: plan.priceMonthlyCents,
    price_yearly_cents: plan.priceYearlyCents,
    monthly_credits: plan.monthlyCredits,
    parallel_limit: plan.parallelLimit,
    features: plan.features,
    highlight: plan.highlight,
  };
}

/** Presents a checkout: the page to pay at, or that nothing had to be paid and the change is active. */
export function presentCheckout(url: string | null): Static<typeof CheckoutResponse> {
  return url === null ? { checkout_url: null, activated: true } : { checkout_url: url };
}

export function presentInvoice(invoice: Invoice): Static<typeof InvoiceResponse> {
  return presentAs(InvoiceResponse, invoice, { invoice_id: invoice.stripe_invoice_id });
}

export function presentTopupSettings(settings: AutoTopupSettings): Static<typeof TopupSettingsResponse> {
  return {
    auto_topup_enabled: settings.isEnabled,
    auto_topup_amount_cents: settings.amountCents,
    auto_topup_threshold_credits: settings.thresholdCredits,
    preview_credits: settings.previewCredits,
    // Not in the specification. Present only if there is a problem.
    ...(settings.problem === null ? {} : { auto_topup_problem: settings.problem }),
  };
}
