import { SocialConfigResponse, UserResponse } from '../responseSchemas.ts';
import { AdvanceOnboardingRequest, DevSignInRequest, ProfileRequest } from '../requestSchemas.ts';
import { EXAMPLE_USER } from '../openapi/examples.ts';
import type { Operations } from '../openapi/operation.ts';

export const SESSION_OPERATIONS: Operations = {
  'GET /authentication/social/config/': {
    id: 'getSocialConfig',
    tag: 'Session',
    summary: 'List the sign-in providers',
    description: 'A browser signs in at `/authentication/social/{provider}/start`.',
    response: {
      status: 200,
      description: 'Which are configured.',
      schema: SocialConfigResponse,
      example: { google: true, apple: false, github: true },
    },
  },
  'GET /authentication/me/': {
    id: 'getMe',
    tag: 'Session',
    summary: 'Read who is signed in',
    response: { status: 200, description: 'The user.', schema: UserResponse, example: EXAMPLE_USER },
  },
  'PATCH /authentication/me/': {
    id: 'updateMe',
    tag: 'Session',
    summary: 'Change the profile',
    body: { schema: ProfileRequest, example: { first_name: 'Ada' }, isOptional: true },
    response: { status: 200, description: 'The user now.', schema: UserResponse, example: EXAMPLE_USER },
  },
  'POST /authentication/logout/': {
    id: 'logOut',
    tag: 'Session',
    summary: 'Sign out',
    response: { status: 204, description: 'The session is over, and the cookie cleared.' },
  },
  'POST /authentication/onboarding/advance/': {
    id: 'advanceOnboarding',
    tag: 'Session',
    summary: 'Complete a step of the onboarding',
    description: 'First `profile`, then `plan`, which takes an active subscription.',
    body: { schema: AdvanceOnboardingRequest, example: { step_completed: 'profile', data: { use_case: 'Clips' } } },
    response: { status: 200, description: 'The user now.', schema: UserResponse, example: EXAMPLE_USER },
    errorCodes: ['subscription_required'],
  },
  'POST /authentication/dev/sign-in/': {
    id: 'signInLocally',
    tag: 'Session',
    summary: 'Sign in without a provider',
    description: 'On local machines only, as long as no provider is configured. Sets the session cookie.',
    body: { schema: DevSignInRequest, example: { email: 'me@example.org' } },
    response: {
      status: 200,
      description: 'The user, made if there was none.',
      schema: UserResponse,
      example: EXAMPLE_USER,
    },
    // Where a provider is configured.
    errorCodes: ['not_found'],
  },
};
