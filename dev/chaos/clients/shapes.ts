import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import Type, { type TSchema } from 'typebox';
import {
  AffiliateStatusAnswer,
  ApiKeyAnswer,
  BillingStatusAnswer,
  CheckoutAnswer,
  CreatedApiKeyAnswer,
  EnrollAnswer,
  ErrorAnswer,
  GenerationAnswer,
  LedgerEntryAnswer,
  ModelAnswer,
  OnboardingLinkAnswer,
  pageOf,
  PaginationAnswer,
  PortalAnswer,
  RevokedAnswer,
  TopupSettingsAnswer,
  UsageAnswer,
  UserAnswer,
} from '../../../api/answers.ts';

/** The answers that clients get, as the interface describes them. */
const ajv = new Ajv2020({ strict: false, validateFormats: false });
const compile = (schema: TSchema): ValidateFunction => ajv.compile(schema);

/** What list_library shows of a generation: get_generation shows the rest. */
const Library = Type.Object({
  pagination: Type.Pick(PaginationAnswer, ['current_page', 'total_pages', 'total_items']),
  data: Type.Array(
    Type.Pick(GenerationAnswer, [
      'uuid',
      'kind',
      'status',
      'prompt',
      'output_url',
      'error_message',
      'credits_charged',
      'created_at',
    ]),
  ),
  next: Type.String(),
});

export const SHAPES = {
  affiliateStatus: compile(AffiliateStatusAnswer),
  apiKeys: compile(pageOf(ApiKeyAnswer)),
  billingStatus: compile(BillingStatusAnswer),
  checkout: compile(CheckoutAnswer),
  createdKey: compile(CreatedApiKeyAnswer),
  error: compile(ErrorAnswer),
  enroll: compile(EnrollAnswer),
  generation: compile(GenerationAnswer),
  generations: compile(pageOf(GenerationAnswer)),
  library: compile(Library),
  ledger: compile(pageOf(LedgerEntryAnswer)),
  models: compile(pageOf(ModelAnswer)),
  onboardingLink: compile(OnboardingLinkAnswer),
  portal: compile(PortalAnswer),
  revoked: compile(RevokedAnswer),
  topupSettings: compile(TopupSettingsAnswer),
  usage: compile(UsageAnswer),
  user: compile(UserAnswer),
} as const;
/** `nothing` for what has no body. */
export type Shape = keyof typeof SHAPES | 'nothing';

/** What is wrong with a body; null if nothing is. */
export function problemOf(shape: Shape, body: unknown): string | null {
  if (shape === 'nothing') return body === undefined ? null : 'there is a body';
  const validate = SHAPES[shape];
  return validate(body) ? null : ajv.errorsText(validate.errors);
}
