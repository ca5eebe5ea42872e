import { WebhookEndpointResponse } from '../../../shared/presenters/webhookEndpoint.ts';
import { EXAMPLE_TIMESTAMP, EXAMPLE_UUID } from '../../openapi/examples.ts';
import type { SuccessResponse } from '../../pipeline/endpoint.ts';
import { DefaultSecretResponse, DeliveryResponse, WebhookEndpointWithSecretResponse } from './schemas.ts';

export const EXAMPLE_URL = 'https://example.com/webhooks';
const EXAMPLE_KEYS = {
  secret: `whsec_${'A'.repeat(43)}=`,
  public_key: `whpk_${'A'.repeat(43)}=`,
};

export const EXAMPLE_ENDPOINT = {
  uuid: EXAMPLE_UUID,
  url: EXAMPLE_URL,
  events: ['generation.succeeded', 'generation.failed'],
  description: 'Production',
  enabled: true,
  disabled_reason: null,
  failing_since: null,
  public_key: EXAMPLE_KEYS.public_key,
  created_at: EXAMPLE_TIMESTAMP,
};

export const EXAMPLE_DELIVERY = {
  uuid: EXAMPLE_UUID,
  event_uuid: '01939b6e-61c0-7b2e-8a4c-52d0e7f91b33',
  type: 'generation.succeeded',
  url: EXAMPLE_URL,
  status: 'pending',
  attempts: 1,
  next_attempt_at: '2026-11-21T09:30:05.000Z',
  last_attempt_at: EXAMPLE_TIMESTAMP,
  last_status: 500,
  last_error: 'status 500',
  last_duration_ms: 120,
  delivered_at: null,
  created_at: EXAMPLE_TIMESTAMP,
};

export const EXAMPLE_DELIVERY_DETAILS = {
  ...EXAMPLE_DELIVERY,
  body: `{"type":"generation.succeeded","timestamp":"${EXAMPLE_TIMESTAMP}","data":{"uuid":"${EXAMPLE_UUID}"}}`,
  attempt_log: [
    {
      sent_at: EXAMPLE_TIMESTAMP,
      duration_ms: 120,
      status: 500,
      error: 'status 500',
      signature: `v1,${'A'.repeat(43)}= v1a,${'A'.repeat(86)}==`,
      response_body: 'Internal Server Error',
      response_is_binary: false,
    },
  ],
};

export const endpointResponse = (description: string): SuccessResponse => ({
  description,
  schema: WebhookEndpointResponse,
  example: EXAMPLE_ENDPOINT,
});

export const endpointWithSecretResponse = (description: string): SuccessResponse => ({
  description,
  schema: WebhookEndpointWithSecretResponse,
  example: { ...EXAMPLE_ENDPOINT, secret: EXAMPLE_KEYS.secret },
});

export const pendingDeliveryResponse = (description: string): SuccessResponse => ({
  description,
  schema: DeliveryResponse,
  example: {
    ...EXAMPLE_DELIVERY,
    attempts: 0,
    next_attempt_at: EXAMPLE_TIMESTAMP,
    last_attempt_at: null,
    last_status: null,
    last_error: null,
    last_duration_ms: null,
  },
});

export const defaultSecretResponse = (description: string): SuccessResponse => ({
  description,
  schema: DefaultSecretResponse,
  example: { uuid: EXAMPLE_UUID, ...EXAMPLE_KEYS },
});
