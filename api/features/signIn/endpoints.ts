import { getAccount } from '../../../shared/domain/accounts/accounts.ts';
import { findOrCreatePersonByEmail } from '../../../shared/domain/signIn/findOrCreatePerson.ts';
import type { Caller } from '../../../shared/domain/accounts/caller.ts';
import { DEV_PROVIDER } from '../../../shared/domain/signIn/identities.ts';
import { completeOnboardingStep, updateProfile } from '../../../shared/domain/signIn/onboarding.ts';
import { getPerson, pickOwnerColumns } from '../../../shared/domain/accounts/people.ts';
import { isStaff } from '../../../shared/domain/accounts/staffRights.ts';
import { isStaffEmail } from '../../../shared/lib/staffEmails.ts';
import { getIdentityProviders, PROVIDER_NAMES } from '../../../shared/gateways/identity/index.ts';
import { EXAMPLE_UUID, getExampleAccountPlan } from '../../openapi/examples.ts';
import type { Feature } from '../feature.ts';
import { authenticateOptional } from '../../pipeline/authenticate.ts';
import { readReferralCookie } from '../../pipeline/cookies/referralCookie.ts';
import { endCurrentSession, startWebSession } from '../../pipeline/cookies/sessionCookie.ts';
import { receiveAppleEvent } from './appleEvents.ts';
import { defineEndpoint } from '../../pipeline/endpoint.ts';
import {
  AdvanceOnboardingRequest,
  DevSignInRequest,
  getUserResponse,
  ProfileRequest,
  SocialConfigResponse,
} from './schemas.ts';
import type { Static } from 'typebox';
import { getActivePlan } from '../../../shared/domain/credits/entitlement.ts';
import type { Account } from '../../../shared/tables/Account.ts';
import type { Person } from '../../../shared/tables/Person.ts';
import { presentAs } from '../../../shared/presenters/fields.ts';
import { presentAccountPlan } from '../../../shared/presenters/billingStatus.ts';

const describeUser = (description: string) => () => ({
  description,
  schema: getUserResponse(),
  example: {
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
  },
});

const presentCaller = async (caller: Caller) => {
  const [account, person] = await Promise.all([getAccount(caller.accountId), getPerson(caller)]);
  return presentUser(account, person, await isStaff(caller));
};

export const SESSION: Feature = {
  routes: [
    // Signed notifications of a sign-in provider.
    ['POST', '/sign-in-events/apple', 'json', 'anyone', 'unlimited', 'raw', receiveAppleEvent],
  ],
  tag: { name: 'Session', description: 'The signed-in user. Requires the session cookie.' },
  schemas: () => ({ User: getUserResponse(), Profile: ProfileRequest }),
  endpoints: [
    defineEndpoint({
      id: 'getSocialConfig',
      route: 'GET /authentication/social/config/',
      policy: { surface: 'json', credential: 'anyone', rateLimit: 'public' },
      summary: 'List the sign-in providers',
      description: 'Browsers sign in at `/authentication/social/{provider}/start`.',
      response: {
        description: 'True for each configured provider.',
        schema: SocialConfigResponse,
        example: { google: true, apple: false, github: true },
      },
      run: () => Object.fromEntries(PROVIDER_NAMES.map((name) => [name, getIdentityProviders()[name] !== null])),
    }),
    defineEndpoint({
      id: 'getMe',
      route: 'GET /authentication/me/',
      policy: { needs: 'actForOneself', surface: 'json', credential: 'session' },
      summary: 'Get the signed-in user',
      response: describeUser('The user.'),
      run: ({ caller }) => presentCaller(caller),
    }),
    defineEndpoint({
      id: 'updateMe',
      route: 'PATCH /authentication/me/',
      policy: { needs: 'actForOneself', surface: 'json', credential: 'session' },
      summary: 'Update the profile',
      request: ProfileRequest,
      example: { first_name: 'Ada' },
      isRequestOptional: true,
      response: describeUser('The updated user.'),
      run: async ({ caller, body }) => {
        await updateProfile(caller, body);
        return presentCaller(caller);
      },
    }),
    defineEndpoint({
      id: 'logOut',
      route: 'POST /authentication/logout/',
      policy: { needs: 'actForOneself', surface: 'json', credential: 'session' },
      summary: 'Sign out',
      response: { status: 204, description: 'The session has ended and the cookie is deleted.' },
      run: ({ ctx }) => endCurrentSession(ctx),
    }),
    defineEndpoint({
      id: 'advanceOnboarding',
      route: 'POST /authentication/onboarding/advance/',
      policy: { needs: 'manageBilling', surface: 'json', credential: 'session' },
      summary: 'Complete an onboarding step',
      description: 'First `profile`, then `plan`, which requires an active subscription.',
      request: AdvanceOnboardingRequest,
      example: { step_completed: 'profile', data: { use_case: 'Clips' } },
      response: describeUser('The updated user.'),
      errors: ['subscription_required'],
      run: async ({ caller, body: { step_completed: step, data } }) => {
        await completeOnboardingStep(caller, step, data);
        return presentCaller(caller);
      },
    }),
  ],
};

/** Sign-in by e-mail address alone. The router offers it in local development only. */
export const LOCAL_SESSION: Feature = {
  tag: SESSION.tag,
  endpoints: [
    defineEndpoint({
      id: 'signInLocally',
      route: 'POST /authentication/dev/sign-in/',
      policy: { surface: 'json', credential: 'anyone', rateLimit: 'public' },
      summary: 'Sign in without a provider',
      description: 'Available in local development only, while no provider is configured. Sets the session cookie.',
      request: DevSignInRequest,
      example: { email: 'me@example.org' },
      response: describeUser('The user, created if necessary.'),
      // If a provider is configured.
      errors: ['not_found', 'account_suspended'],
      run: async ({ ctx, body }) => {
        // A session is optional here: it identifies the account whose own referral link does not count.
        await authenticateOptional(ctx);
        const referralClick = readReferralCookie(ctx, ctx.state.caller?.accountId ?? null);
        const person = await findOrCreatePersonByEmail(body.email, DEV_PROVIDER, { referralClick });
        const account = await startWebSession(ctx, person.id);
        return presentUser(account, person, account.email === person.email && isStaffEmail(person.email));
      },
    }),
  ],
};

/** Presents a person, with the account that it acts on. */
function presentUser(account: Account, person: Person, isStaff: boolean): Static<ReturnType<typeof getUserResponse>> {
  const plan = getActivePlan(account);
  const user = presentAs(getUserResponse().properties.user, account, {
    ...pickOwnerColumns(person),
    is_staff: isStaff,
    plan: plan && presentAccountPlan(plan),
    credits: { balance: account.balance },
  });
  return { user };
}
