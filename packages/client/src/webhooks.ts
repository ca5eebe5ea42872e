import { listPages } from './account.ts';
import type { List } from './list.ts';
import type { IdempotentRequestOptions, RequestOptions, Transport } from './transport.ts';
import type {
  CreateWebhook,
  DeliveryFilters,
  UpdateWebhook,
  WebhookDelivery,
  WebhookEndpoint,
  WebhookEndpointWithSecret,
} from './types.ts';

const WEBHOOKS_PATH = '/api/webhooks/';

/** Webhook endpoints of the account and their deliveries. */
export class Webhooks {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Creates an endpoint. The response is the only one that contains its secret. */
  create(endpoint: CreateWebhook, options?: IdempotentRequestOptions): Promise<WebhookEndpointWithSecret> {
    const call = { method: 'POST', path: `${WEBHOOKS_PATH}create/`, body: endpoint, repetition: 'keyed' } as const;
    return this.#transport.request(call, options);
  }

  get(uuid: string, options?: RequestOptions): Promise<WebhookEndpoint> {
    return this.#transport.request({ method: 'GET', path: buildPath(uuid), repetition: 'safe' }, options);
  }

  list(options?: RequestOptions): List<WebhookEndpoint> {
    return listPages(this.#transport, WEBHOOKS_PATH, {}, options);
  }

  update(uuid: string, changes: UpdateWebhook, options?: RequestOptions): Promise<WebhookEndpoint> {
    const call = { method: 'PATCH', path: buildPath(uuid), body: changes, repetition: 'safe' } as const;
    return this.#transport.request(call, options);
  }

  delete(uuid: string, options?: RequestOptions): Promise<void> {
    return this.#transport.request({ method: 'DELETE', path: buildPath(uuid), repetition: 'safe' }, options);
  }

  /** Replaces the secret. The former keys sign as well for 24 hours. */
  rotateSecret(uuid: string, options?: IdempotentRequestOptions): Promise<WebhookEndpointWithSecret> {
    const call = { method: 'POST', path: `${buildPath(uuid)}rotate-secret/`, repetition: 'keyed' } as const;
    return this.#transport.request(call, options);
  }

  /** Sends a `webhook.test` event. After a lost response it is not sent again. */
  test(uuid: string, options?: RequestOptions): Promise<WebhookDelivery> {
    return this.#transport.request({ method: 'POST', path: `${buildPath(uuid)}test/`, repetition: 'once' }, options);
  }

  /** Lists the deliveries of an endpoint, newest first. */
  deliveries(uuid: string, filters: DeliveryFilters = {}, options?: RequestOptions): List<WebhookDelivery> {
    return listPages(this.#transport, `${buildPath(uuid)}deliveries/`, filters, options);
  }

  /** Delivers an event again. After a lost response it is not repeated. */
  redeliver(uuid: string, delivery: string, options?: RequestOptions): Promise<WebhookDelivery> {
    const path = `${buildPath(uuid)}deliveries/${encodeURIComponent(delivery)}/redeliver/`;
    return this.#transport.request({ method: 'POST', path, repetition: 'once' }, options);
  }
}

const buildPath = (uuid: string): string => `${WEBHOOKS_PATH}${encodeURIComponent(uuid)}/`;
