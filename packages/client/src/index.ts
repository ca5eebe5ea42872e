export type { Billing, GiftCodes, Keys, Ledger, Models, Plans, Usage } from './account.ts';
export { type ErrorCode, GenmeterError, type ServiceErrorCode } from './errors.ts';
export type { Generations, WaitOptions } from './generations.ts';
export { Genmeter } from './genmeter.ts';
export type { List, Page, Pagination } from './list.ts';
export type { components, operations, webhooks } from './schema.ts';
export type { GenmeterOptions, IdempotentRequestOptions, RequestOptions } from './transport.ts';
export type * from './types.ts';
export type { ImageFile, Uploads } from './uploads.ts';
export {
  verifyWebhook,
  type VerifyWebhookOptions,
  WebhookVerificationError,
  type WebhookHeaders,
} from './verifyWebhook.ts';
export type { Webhooks } from './webhooks.ts';
