import Type from 'typebox';
import { TOPUP_MAX_CENTS, TOPUP_MIN_CENTS } from '../../../shared/spec/limits.ts';
import { getOfferedPlans } from '../../../shared/lib/catalog/catalog.ts';
import { perService } from '../../../shared/lib/serviceScope.ts';
import { NO_OTHER_FIELDS, textOrNull, Timestamp, timestampOrNull, Uuid } from '../../../shared/presenters/fields.ts';

export const getPlanResponse = perService(() =>
  Type.Object({
    slug: Type.Enum(getOfferedPlans().map(({ slug }) => slug)),
    name: Type.String(),
    price_monthly_cents: Type.Integer({ description: 'Monthly sticker price, for display' }),
    price_yearly_cents: Type.Integer({ description: 'Charged: twelve times the monthly price, once a year' }),
    monthly_credits: Type.Integer(),
    parallel_limit: Type.Integer(),
    features: Type.Unsafe<readonly string[]>({ type: 'array', items: { type: 'string' } }),
    highlight: Type.Boolean({ description: 'Presented as the default' }),
  }),
);

export const CheckoutResponse = Type.Object({
  checkout_url: textOrNull({ description: 'Page to pay or confirm at; null if nothing is left to do' }),
  activated: Type.Optional(
    Type.Boolean({ description: 'true if the change is active immediately, without a payment processor' }),
  ),
});

export const PortalResponse = Type.Object({
  portal_url: textOrNull({ description: 'null without a payment processor' }),
});

export const InvoiceResponse = Type.Object({
  uuid: Uuid,
  invoice_id: textOrNull({
    description:
      'The id at the payment processor; null until it has issued the invoice, and without a payment processor',
  }),
  number: textOrNull({ description: 'The number printed on the invoice' }),
  kind: Type.Enum(['subscription', 'topup']),
  description: Type.String(),
  status: Type.Enum(['open', 'paid', 'void', 'uncollectible']),
  currency: Type.String({ description: 'Three letters in lower case' }),
  total_cents: Type.Integer({ description: 'With tax and after discounts' }),
  tax_cents: Type.Integer(),
  discount_cents: Type.Integer(),
  net_cents: Type.Integer({ description: 'The total without tax' }),
  refunded_cents: Type.Integer({ description: 'The part of the total that was refunded or is disputed' }),
  created_at: Timestamp,
  paid_at: timestampOrNull(),
  hosted_invoice_url: textOrNull({
    description: 'Page of the invoice; expires about 30 days after the invoice was issued',
  }),
  pdf_url: textOrNull({ description: 'The invoice as PDF; expires like the page' }),
});

export const TopupSettingsResponse = Type.Object({
  auto_topup_enabled: Type.Boolean(),
  auto_topup_amount_cents: Type.Integer(),
  auto_topup_threshold_credits: Type.Integer(),
  preview_credits: Type.Integer({ description: 'Credits for the amount at the rate of the current plan' }),
  auto_topup_problem: Type.Optional(
    Type.String({ description: 'Reason why automatic top-ups were disabled; present only then' }),
  ),
});

export const ReceivedResponse = Type.Object({ received: Type.Boolean({ const: true }) });

export const getCheckoutRequest = perService(() =>
  Type.Object(
    {
      plan: Type.Enum(getOfferedPlans().map(({ slug }) => slug)),
      // Plans are annual; the value is ignored.
      interval: Type.Optional(Type.Unknown()),
    },
    NO_OTHER_FIELDS,
  ),
);

/** Amount in cents. JSON numbers such as 5e3 are accepted; -0 is rejected by the minimum. */
const TopupCents = Type.Integer({ minimum: TOPUP_MIN_CENTS, maximum: TOPUP_MAX_CENTS });

export const TopupRequest = Type.Object({ amount_cents: TopupCents }, NO_OTHER_FIELDS);

export const TopupSettingsRequest = Type.Object(
  {
    auto_topup_enabled: Type.Optional(Type.Boolean()),
    auto_topup_amount_cents: Type.Optional(TopupCents),
    auto_topup_threshold_credits: Type.Optional(Type.Integer({ minimum: 0, maximum: 1_000_000_000 })),
  },
  NO_OTHER_FIELDS,
);
