import Type from 'typebox';
import { MODEL_SLUGS } from '../../shared/spec/catalog.ts';
import {
  API_KEY_NAME_MAX_CHARACTERS,
  PROFILE_TEXT_MAX_CHARACTERS,
  PROMPT_MAX_CHARACTERS,
  TOPUP_MAX_CENTS,
  TOPUP_MIN_CENTS,
} from '../../shared/spec/limits.ts';
import { PLAN_SLUGS } from '../../shared/spec/plans.ts';

/** Request schemas, for validation and types. Unknown fields are rejected by name. */
const NO_OTHER_FIELDS = { additionalProperties: false };

export const CreateGenerationRequest = Type.Object(
  {
    model: Type.Enum([...MODEL_SLUGS]),
    prompt: Type.String({ trimmed: true, minLength: 1, maxLength: PROMPT_MAX_CHARACTERS, format: 'text' }),
    // Validated by the schema of the model: see the catalog.
    params: Type.Object({}),
  },
  NO_OTHER_FIELDS,
);

export const CreateApiKeyRequest = Type.Object(
  { name: Type.String({ trimmed: true, minLength: 1, maxLength: API_KEY_NAME_MAX_CHARACTERS, format: 'text' }) },
  NO_OTHER_FIELDS,
);

export const CheckoutRequest = Type.Object(
  {
    plan: Type.Enum([...PLAN_SLUGS]),
    // Plans are annual; the value is ignored.
    interval: Type.Optional(Type.Unknown()),
  },
  NO_OTHER_FIELDS,
);

const ProfileText = Type.Optional(
  Type.String({ trimmed: true, maxLength: PROFILE_TEXT_MAX_CHARACTERS, format: 'text' }),
);

/** Amount in cents. JSON numbers such as 5e3 are accepted; -0 is rejected by the minimum. */
const TopupCents = Type.Integer({ minimum: TOPUP_MIN_CENTS, maximum: TOPUP_MAX_CENTS });

export const TopupRequest = Type.Object({ amount_cents: TopupCents }, NO_OTHER_FIELDS);

export const TopupSettingsRequest = Type.Object(
  {
    auto_topup_enabled: Type.Optional(Type.Boolean()),
    auto_topup_amount_cents: Type.Optional(TopupCents),
    auto_topup_threshold_credits: Type.Optional(Type.Integer({ minimum: 0, maximum: 1_000_000_000 })),
  },
  NO_OTHER_FIELDS,
);

export const ProfileRequest = Type.Object(
  {
    first_name: ProfileText,
    language: Type.Optional(
      Type.String({
        pattern: '^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$',
        maxLength: 35,
        description: 'a language code such as en or pt-BR',
      }),
    ),
    use_case: ProfileText,
  },
  NO_OTHER_FIELDS,
);

export const AdvanceOnboardingRequest = Type.Object(
  { step_completed: Type.Enum(['profile', 'plan']), data: Type.Optional(ProfileRequest) },
  NO_OTHER_FIELDS,
);

export const DevSignInRequest = Type.Object(
  { email: Type.String({ trimmed: true, maxLength: 254, format: 'email' }) },
  NO_OTHER_FIELDS,
);
