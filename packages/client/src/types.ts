import type { components, operations, webhooks } from './schema.ts';

type Schemas = components['schemas'];

/** Known values, and others: an operator configures models and their values. */
type Open<Value> = Value extends string ? Value | (string & {}) : Value extends number ? number : Value;
type OpenFields<Fields, Names extends PropertyKey> = {
  [Name in keyof Fields]: Name extends Names ? Open<Fields[Name]> : Fields[Name];
};
type KeyOfAny<Union> = Union extends unknown ? keyof Union : never;
type ValueOfAny<Union, Name> = Union extends unknown ? (Name extends keyof Union ? Union[Name] : never) : never;

export type VideoParams = Schemas['VideoParams'];
export type ImageParams = Schemas['ImageParams'];
type KnownParams = VideoParams | ImageParams;
/**
 * Parameters of a request. `models.list` returns those of each model, with the parameters and image inputs that an
 * operator has configured. An image is `upload:<uuid>`, `generation:<uuid>` or an address.
 */
export type GenerationParams = { [Name in KeyOfAny<KnownParams>]?: Open<ValueOfAny<KnownParams, Name>> } & {
  [name: string]: string | number | boolean | string[] | undefined;
};

export type Generation = OpenFields<Schemas['Generation'], 'model'>;
export type Estimate = OpenFields<Schemas['Estimate'], 'model'>;
export type Model = OpenFields<Schemas['Model'], 'slug'>;
export type Plan = Schemas['Plan'];
export type Checkout = Schemas['Checkout'];
export type UsageSummary = Schemas['UsageSummary'];
export type KeyUsage = Schemas['KeyUsage'];
export type LedgerEntry = Schemas['LedgerEntry'];
export type ApiKey = Schemas['ApiKey'];
export type CreatedApiKey = Schemas['CreatedApiKey'];
export type RedeemedGiftCode = Schemas['RedeemedGiftCode'];
export type Upload = Schemas['Upload'];
export type CreatedUpload = Schemas['CreatedUpload'];
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

export type CreateGeneration = OpenFields<Omit<Body<'createGeneration'>, 'params'>, 'model'> & {
  params: GenerationParams;
};
export type GenerationFilters = OpenFields<Filters<'listGenerations'>, 'model'>;
export type LedgerFilters = Filters<'listLedgerEntries'>;
export type CreateApiKey = Body<'createApiKey'>;
export type CreateTopup = Body<'topUp'>;
export type UpdateApiKey = Body<'updateApiKey'>;
export type CreateUpload = Body<'createUpload'>;
export type CreateWebhook = Body<'createWebhook'>;
export type UpdateWebhook = Body<'updateWebhook'>;
export type DeliveryFilters = Filters<'listWebhookDeliveries'>;

/** A message to a webhook endpoint. Its `type` says what `data` is; types may be added. */
export type WebhookEvent = {
  [Type in keyof webhooks]: webhooks[Type]['post']['requestBody']['content']['application/json'];
}[keyof webhooks];
