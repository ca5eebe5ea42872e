import {
  AdvanceOnboardingRequest,
  DevSignInRequest,
  ProfileRequest,
  SocialConfigResponse,
  getUserResponse,
} from './schemas.ts';
import { EXAMPLE_UUID, getExampleAccountPlan } from '../openapi/examples.ts';
import type { FeatureDescription } from '../openapi/feature.ts';

const buildExampleUser = () => ({
  user: {
    uuid: EXAMPLE_UUID,
    email: 'me@example.org',
    first_name: 'Ada',
    language: 'en',
    use_case: 'Clips for our shop',
    onboarding_step: 'complete',
    is_staff: false,
    social_provider: 'google',
    plan: getExampleAccountPlan(),
    credits: { balance: 1_092 },
    is_affiliate: false,
  },
});

export const describeSession = (): FeatureDescription => ({
  tag: { name: 'Session', description: 'The signed-in user. Requires the session cookie.' },
  schemas: { User: getUserResponse(), Profile: ProfileRequest },
  operations: {
    'GET /authentication/social/config/': {
      id: 'getSocialConfig',
      summary: 'List the sign-in providers',
      description: 'Browsers sign in at `/authentication/social/{provider}/start`.',
      response: {
        status: 200,
        description: 'True for each configured provider.',
        schema: SocialConfigResponse,
        example: { google: true, apple: false, github: true },
      },
    },
    'GET /authentication/me/': {
      id: 'getMe',
      summary: 'Get the signed-in user',
      response: { status: 200, description: 'The user.', schema: getUserResponse(), example: buildExampleUser() },
    },
    'PATCH /authentication/me/': {
      id: 'updateMe',
      summary: 'Update the profile',
      body: { schema: ProfileRequest, example: { first_name: 'Ada' }, isOptional: true },
      response: {
        status: 200,
        description: 'The updated user.',
        schema: getUserResponse(),
        example: buildExampleUser(),
      },
    },
    'POST /authentication/logout/': {
      id: 'logOut',
      summary: 'Sign out',
      response: { status: 204, description: 'The session has ended and the cookie is deleted.' },
    },
    'POST /authentication/onboarding/advance/': {
      id: 'advanceOnboarding',
      summary: 'Complete an onboarding step',
      description: 'First `profile`, then `plan`, which requires an active subscription.',
      body: { schema: AdvanceOnboardingRequest, example: { step_completed: 'profile', data: { use_case: 'Clips' } } },
      response: {
        status: 200,
        description: 'The updated user.',
        schema: getUserResponse(),
        example: buildExampleUser(),
      },
      errorCodes: ['subscription_required'],
    },
    'POST /authentication/dev/sign-in/': {
      id: 'signInLocally',
      summary: 'Sign in without a provider',
      description: 'Available in local development only, while no provider is configured. Sets the session cookie.',
      body: { schema: DevSignInRequest, example: { email: 'me@example.org' } },
      response: {
        status: 200,
        description: 'The user, created if necessary.',
        schema: getUserResponse(),
        example: buildExampleUser(),
      },
      // If a provider is configured.
      errorCodes: ['not_found', 'account_suspended'],
    },
  },
});
