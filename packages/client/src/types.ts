import type { components, operations, webhooks } from './schema.ts';

type Schemas = components['schemas'];

export type Generation = Schemas['Generation'];
export type VideoParams = Schemas['VideoParams'];
export type ImageParams = Schemas['ImageParams'];
export type Model = Schemas['Model'];
export type Plan = Schemas['Plan'];
export type UsageSummary = Schemas['UsageSummary'];
export type KeyUsage = Schemas['KeyUsage'];
export type LedgerEntry = Schemas['LedgerEntry'];
export type ApiKey = Schemas['ApiKey'];
export type CreatedApiKey = Schemas['CreatedApiKey'];
export type WebhookEndpoint = Schemas['WebhookEndpoint'];
export type WebhookEndpointWithSecret = Schemas['WebhookEndpointWithSecret'];
export type WebhookDelivery = Schemas['WebhookDelivery'];

/** Body of a request. */
type Body<Id extends keyof operations> = operations[Id] extends {
  requestBody: { content: { 'application/json': infer Content } };
}
  ? Content
  : never;
/** Query parameters of a list, without the page. */
type Filters<Id extends keyof operations> = Omit<NonNullable<operations[Id]['parameters']['query']>, 'page'>;

export type CreateGeneration = Body<'createGeneration'>;
export type GenerationFilters = Filters<'listGenerations'>;
export type LedgerFilters = Filters<'listLedgerEntries'>;
export type CreateApiKey = Body<'createApiKey'>;
export type CreateWebhook = Body<'createWebhook'>;
export type UpdateWebhook = Body<'updateWebhook'>;
export type DeliveryFilters = Filters<'listWebhookDeliveries'>;

/** A message to a webhook endpoint. Its `type` says what `data` is; types may be added. */
export type WebhookEvent = {
  [Type in keyof webhooks]: webhooks[Type]['post']['requestBody']['content']['application/json'];
}[keyof webhooks];
