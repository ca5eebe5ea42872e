import { SocialConfigAnswer, UserAnswer } from '../../answers.ts';
import { AdvanceOnboarding, DevSignIn, Profile } from '../../schemas.ts';
import { USER } from '../examples.ts';
import type { Operations } from '../operation.ts';

export const SESSION: Operations = {
  'GET /authentication/social/config/': {
    id: 'getSocialConfig',
    tag: 'Session',
    summary: 'List the sign-in providers',
    description: 'A browser signs in at `/authentication/social/{provider}/start`.',
    answer: {
      status: 200,
      description: 'Which are configured.',
      schema: SocialConfigAnswer,
      example: { google: true, apple: false, github: true },
    },
  },
  'GET /authentication/me/': {
    id: 'getMe',
    tag: 'Session',
    summary: 'Read who is signed in',
    answer: { status: 200, description: 'The user.', schema: UserAnswer, example: USER },
  },
  'PATCH /authentication/me/': {
    id: 'updateMe',
    tag: 'Session',
    summary: 'Change the profile',
    body: { schema: Profile, example: { first_name: 'Ada' }, isOptional: true },
    answer: { status: 200, description: 'The user now.', schema: UserAnswer, example: USER },
  },
  'POST /authentication/logout/': {
    id: 'logOut',
    tag: 'Session',
    summary: 'Sign out',
    answer: { status: 204, description: 'The session is over, and the cookie cleared.' },
  },
  'POST /authentication/onboarding/advance/': {
    id: 'advanceOnboarding',
    tag: 'Session',
    summary: 'Complete a step of the onboarding',
    description: 'First `profile`, then `plan`, which takes an active subscription.',
    body: { schema: AdvanceOnboarding, example: { step_completed: 'profile', data: { use_case: 'Clips' } } },
    answer: { status: 200, description: 'The user now.', schema: UserAnswer, example: USER },
    refusals: ['subscription_required'],
  },
  'POST /authentication/dev/sign-in/': {
    id: 'signInLocally',
    tag: 'Session',
    summary: 'Sign in without a provider',
    description: 'On local machines only, as long as no provider is configured. Sets the session cookie.',
    body: { schema: DevSignIn, example: { email: 'me@example.org' } },
    answer: { status: 200, description: 'The user, made if there was none.', schema: UserAnswer, example: USER },
    // Where a provider is configured.
    refusals: ['not_found'],
  },
};
