import type { Static } from 'typebox';
import type { DefaultSecret } from '../../../shared/domain/webhooks/defaultEndpoint.ts';
import type { DeliveryDetails, ListedDelivery } from '../../../shared/domain/webhooks/deliveries.ts';
import type { EndpointWithSecret } from '../../../shared/domain/webhooks/rotateSecret.ts';
import { presentAs } from '../../../shared/presenters/fields.ts';
import { presentWebhookEndpoint } from '../../../shared/presenters/webhookEndpoint.ts';
import {
  type DefaultSecretResponse,
  DeliveryDetailsResponse,
  DeliveryResponse,
  type WebhookEndpointWithSecretResponse,
} from './schemas.ts';

export function presentEndpointWithSecret({
  endpoint,
  secret,
}: EndpointWithSecret): Static<typeof WebhookEndpointWithSecretResponse> {
  return { ...presentWebhookEndpoint(endpoint), secret };
}

export function presentDefaultSecret({ uuid, secret, publicKey }: DefaultSecret): Static<typeof DefaultSecretResponse> {
  return { uuid, secret, public_key: publicKey };
}

export const presentDelivery = (row: ListedDelivery) => presentAs(DeliveryResponse, row);
export const presentDeliveryDetails = (row: DeliveryDetails) => presentAs(DeliveryDetailsResponse, row);
