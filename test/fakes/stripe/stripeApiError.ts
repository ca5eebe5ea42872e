import type Stripe from 'stripe';

export interface StripeErrorFields {
  type?: 'invalid_request_error' | 'card_error' | 'idempotency_error' | 'api_error';
  message: string;
  code?: string;
  decline_code?: string;
  param?: string;
  charge?: string;
  payment_intent?: Stripe.PaymentIntent;
  payment_method?: Stripe.PaymentMethod;
}

/**
 * An error that is answered in Stripe's envelope. Once a request has begun to execute, its idempotency key keeps it.
 */
export class StripeApiError extends Error {
  readonly status: number;
  readonly fields: StripeErrorFields;

  constructor(status: number, fields: StripeErrorFields) {
    super(fields.message);
    this.name = 'StripeApiError';
    this.status = status;
    this.fields = { type: 'invalid_request_error', ...fields };
  }
}

/** A parameter that is missing, unknown or malformed: rejected before the request executes, so that no key keeps it. */
export class StripeValidationError extends StripeApiError {
  constructor(fields: StripeErrorFields) {
    super(400, fields);
  }
}

export const INTERNAL_ERROR = new StripeApiError(500, {
  type: 'api_error',
  message: 'An unknown error occurred while the request executed.',
});
