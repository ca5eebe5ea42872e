import Type, { type Static } from 'typebox';
import { WEBHOOK_EVENT_TYPES, type WebhookEventType } from '../spec/events.ts';
import type { WebhookEndpoint } from '../tables/WebhookEndpoint.ts';
import { presentAs, Timestamp, timestampOrNull, Uuid } from './fields.ts';

export const WebhookEndpointResponse = Type.Object({
  uuid: Uuid,
  url: Type.String(),
  events: Type.Unsafe<WebhookEventType[] | null>({
    type: ['array', 'null'],
    items: { type: 'string', enum: WEBHOOK_EVENT_TYPES },
    description: 'Types of events that it receives; null for all',
  }),
  description: Type.String(),
  enabled: Type.Boolean(),
  disabled_reason: Type.Unsafe<WebhookEndpoint['disabled_reason']>({
    type: ['string', 'null'],
    enum: ['owner', 'gone', 'failing', null],
    description:
      '`owner`: by the owner, or by support with all access to the account. `gone`: it answered 410. `failing`: all attempts of five days failed',
  }),
  failing_since: timestampOrNull('The first failed attempt since the last successful one'),
  public_key: Type.String({ pattern: '^whpk_', description: 'Verifies signatures of the version `v1a`' }),
  created_at: Timestamp,
});

export function presentWebhookEndpoint(row: WebhookEndpoint): Static<typeof WebhookEndpointResponse> {
  // Only the default endpoint has no address, and it is not presented.
  return presentAs(WebhookEndpointResponse, row, { url: row.url ?? '', enabled: row.disabled_at === null });
}
