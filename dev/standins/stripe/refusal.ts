import type Stripe from 'stripe';

export interface RefusalFields {
  type?: 'invalid_request_error' | 'card_error' | 'idempotency_error' | 'api_error';
  message: string;
  code?: string;
  decline_code?: string;
  param?: string;
  charge?: string;
  payment_intent?: Stripe.PaymentIntent;
  payment_method?: Stripe.PaymentMethod;
}

/** An error that is answered in Stripe's envelope. */
export class Refusal extends Error {
  readonly status: number;
  readonly fields: RefusalFields;

  constructor(status: number, fields: RefusalFields) {
    super(fields.message);
    this.name = 'Refusal';
    this.status = status;
    this.fields = { type: 'invalid_request_error', ...fields };
  }
}
