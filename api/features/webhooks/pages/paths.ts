export const WEBHOOKS_PATH = '/account/webhooks/';
/** Page of the endpoint that receives the events of generations with a `webhook_url`. */
export const DEFAULT_ENDPOINT_PATH = `${WEBHOOKS_PATH}default/`;

export function buildEndpointPath(uuid: string): string {
  return `${WEBHOOKS_PATH}${uuid}/`;
}

/** Page of a delivery. The endpoint may be the default one. */
export function buildDeliveryPath(endpointUuid: string, deliveryUuid: string): string {
  return `${buildEndpointPath(endpointUuid)}deliveries/${deliveryUuid}/`;
}
