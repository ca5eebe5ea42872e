import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import type { TSchema } from 'typebox';
import { buildUsageOutput } from '../../../api/mcp/tools/getUsage.ts';
import { buildLibraryOutput } from '../../../api/mcp/tools/listLibrary.ts';
import {
  AffiliateStatusResponse,
  EnrollResponse,
  OnboardingLinkResponse,
} from '../../../api/features/affiliate/schemas.ts';
import { CreatedApiKeyResponse, RevokedResponse } from '../../../api/features/apiKeys/schemas.ts';
import { RedeemedGiftCodeResponse } from '../../../api/features/giftCodes/endpoints.ts';
import { ApiKeyResponse } from '../../../shared/presenters/apiKey.ts';
import { CheckoutResponse, PortalResponse, TopupSettingsResponse } from '../../../api/features/billing/schemas.ts';
import { getBillingStatusResponse } from '../../../shared/presenters/billingStatus.ts';
import { ErrorResponse } from '../../../api/openapi/errorSchemas.ts';
import { getEstimateResponse } from '../../../shared/presenters/estimate.ts';
import { getGenerationResponse } from '../../../shared/presenters/generation.ts';
import { EndedAccessResponse, MemberResponse, SentInvitationResponse } from '../../../api/features/members/schemas.ts';
import { getModelResponse } from '../../../api/features/models/schemas.ts';
import { pageSchema } from '../../../api/pipeline/lists.ts';
import { getUserResponse } from '../../../api/features/signIn/schemas.ts';
import { CreatedUploadResponse } from '../../../api/features/uploads/schemas.ts';
import { getUsageResponse } from '../../../api/features/usage/schemas.ts';
import {
  DefaultSecretResponse,
  DeliveryResponse,
  WebhookEndpointWithSecretResponse,
} from '../../../api/features/webhooks/schemas.ts';
import { WebhookEndpointResponse } from '../../../shared/presenters/webhookEndpoint.ts';
import { LedgerEntryResponse } from '../../../shared/presenters/ledgerEntry.ts';

/** Schemas of the responses that clients receive, as the API documents them. */
const ajv = new Ajv2020({ strict: false, validateFormats: false });
const compile = (schema: TSchema): ValidateFunction => ajv.compile(schema);

export const RESPONSE_SHAPES = {
  affiliateStatus: compile(AffiliateStatusResponse),
  apiKey: compile(ApiKeyResponse),
  apiKeys: compile(pageSchema(ApiKeyResponse)),
  billingStatus: compile(getBillingStatusResponse()),
  checkout: compile(CheckoutResponse),
  createdWebhook: compile(WebhookEndpointWithSecretResponse),
  createdUpload: compile(CreatedUploadResponse),
  createdKey: compile(CreatedApiKeyResponse),
  error: compile(ErrorResponse),
  estimate: compile(getEstimateResponse()),
  endedAccess: compile(EndedAccessResponse),
  enroll: compile(EnrollResponse),
  generation: compile(getGenerationResponse()),
  generations: compile(pageSchema(getGenerationResponse())),
  library: compile(buildLibraryOutput()),
  ledger: compile(pageSchema(LedgerEntryResponse)),
  member: compile(MemberResponse),
  members: compile(pageSchema(MemberResponse)),
  models: compile(pageSchema(getModelResponse())),
  onboardingLink: compile(OnboardingLinkResponse),
  portal: compile(PortalResponse),
  redeemedGiftCode: compile(RedeemedGiftCodeResponse),
  revoked: compile(RevokedResponse),
  sentInvitation: compile(SentInvitationResponse),
  topupSettings: compile(TopupSettingsResponse),
  usage: compile(getUsageResponse()),
  usageByTool: compile(buildUsageOutput()),
  user: compile(getUserResponse()),
  webhook: compile(WebhookEndpointResponse),
  webhookDeliveries: compile(pageSchema(DeliveryResponse)),
  webhookDelivery: compile(DeliveryResponse),
  webhookSecret: compile(DefaultSecretResponse),
} as const;
/** `nothing` for responses without a body. */
export type ResponseShape = keyof typeof RESPONSE_SHAPES | 'nothing';

/** Describes a mismatch between body and schema; null if there is none. */
export function findShapeProblem(shape: ResponseShape, body: unknown): string | null {
  if (shape === 'nothing') return body === undefined ? null : 'the body is not empty';
  const validate = RESPONSE_SHAPES[shape];
  return validate(body) ? null : ajv.errorsText(validate.errors);
}
