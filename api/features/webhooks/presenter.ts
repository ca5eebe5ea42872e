import type { Static } from 'typebox';
import type { DefaultSecret } from '../../../shared/domain/webhooks/defaultEndpoint.ts';
import type { ListedDelivery } from '../../../shared/domain/webhooks/deliveries.ts';
import type { EndpointWithSecret } from '../../../shared/domain/webhooks/endpoints.ts';
import { presentWebhookEndpoint } from '../../../shared/presenters/webhookEndpoint.ts';
import type { DefaultSecretResponse, DeliveryResponse, WebhookEndpointWithSecretResponse } from './schemas.ts';

export function presentEndpointWithSecret({
  endpoint,
  secret,
}: EndpointWithSecret): Static<typeof WebhookEndpointWithSecretResponse> {
  return { ...presentWebhookEndpoint(endpoint), secret };
}

export function presentDefaultSecret({ uuid, secret, publicKey }: DefaultSecret): Static<typeof DefaultSecretResponse> {
  return { uuid, secret, public_key: publicKey };
}

export function presentDelivery(row: ListedDelivery): Static<typeof DeliveryResponse> {
  return {
    uuid: row.uuid,
    event_uuid: row.event_uuid,
    type: row.type,
    url: row.url,
    status: row.status,
    attempts: row.attempts,
    next_attempt_at: row.next_attempt_at,
    last_attempt_at: row.last_attempt_at,
    last_status: row.last_status,
    last_error: row.last_error,
    delivered_at: row.delivered_at,
    created_at: row.created_at,
  };
}
