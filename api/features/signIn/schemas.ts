import Type from 'typebox';
import { perService } from '../../../shared/lib/serviceScope.ts';
import { EMAIL_MAX_CHARACTERS } from '../../../shared/lib/email.ts';
import { PROFILE_TEXT_MAX_CHARACTERS } from '../../../shared/spec/limits.ts';
import { ONBOARDING_STEPS } from '../../../shared/spec/states.ts';
import { getAccountPlanSchema, NO_OTHER_FIELDS, Uuid } from '../../../shared/presenters/fields.ts';

export const getUserResponse = perService(() =>
  Type.Object({
    user: Type.Object({
      uuid: Uuid,
      email: Type.String(),
      first_name: Type.String(),
      language: Type.String(),
      use_case: Type.String(),
      onboarding_step: Type.Enum([...ONBOARDING_STEPS]),
      is_staff: Type.Boolean(),
      social_provider: Type.String({ description: 'google, apple, github, or dev for the local sign-in' }),
      plan: getAccountPlanSchema(),
      credits: Type.Object({ balance: Type.Integer() }),
      is_affiliate: Type.Boolean(),
    }),
  }),
);

export const SocialConfigResponse = Type.Object({
  google: Type.Boolean(),
  apple: Type.Boolean(),
  github: Type.Boolean(),
});

const ProfileText = Type.Optional(
  Type.String({ trimmed: true, maxLength: PROFILE_TEXT_MAX_CHARACTERS, format: 'text' }),
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
  { email: Type.String({ trimmed: true, maxLength: EMAIL_MAX_CHARACTERS, format: 'email' }) },
  NO_OTHER_FIELDS,
);
