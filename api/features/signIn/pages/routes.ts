import { redirectTo } from '../../../pipeline/redirect.ts';
import { actionRoutes, type HttpRoute } from '../../../pipeline/route.ts';
import * as signIn from './signIn/handler.ts';
import * as restoreSignIn from './restore/handler.tsx';
import * as settings from './settings/handler.tsx';
import * as identities from './settings/signInMethodHandlers.tsx';
import { showSecurityLogPage } from './securityLog/handler.tsx';
import { SETTINGS_PATH } from './settings/outcomes.ts';
import { renderSettingsPage } from './settings/view.tsx';

// biome-ignore format: aligned columns.
export const SIGN_IN_PAGES: readonly HttpRoute[] = [
  ['GET',     '/authentication/social/:provider/start',          'page', 'visitor', 'account',   'none', signIn.startProviderSignIn],
  ['GET',     '/authentication/social/:provider/callback',       'page', 'anyone',  'public',    'none', signIn.completeProviderSignIn],
  ['POST',    '/authentication/social/:provider/callback',       'page', 'anyone',  'public',    'form', signIn.completeProviderSignIn],
  ['GET',     '/sign-in',                                        'page', 'visitor', 'account',   'none', signIn.showSignInPage],
  ['GET',     '/restore-sign-in/:token',                         'page', 'anyone',  'public',    'none', restoreSignIn.confirmRestoreIdentity],
  ['POST',    '/restore-sign-in/:token',                         'page', 'anyone',  'public',    'none', restoreSignIn.submitRestoreIdentity],
  ['GET',     '/account/settings/',                              'page', 'session', 'account',   'none', renderSettingsPage, { needs: 'actForOneself' }],
  ['POST',    '/account/profile/',                               'page', 'session', 'account',   'form', settings.saveProfile, { needs: 'actForOneself' }],
  ['POST',    '/account/identities/:provider/link/',             'page', 'session', 'account',   'form', identities.startIdentityLink, { needs: 'actForOneself', recentSignIn: true }],
  ...actionRoutes('/account/identities/:uuid/remove/', identities.removeSignInMethod, { needs: 'actForOneself', recentSignIn: true }),
  ...actionRoutes('/account/sessions/:uuid/end/', settings.endSession, { needs: 'actForOneself', recentSignIn: true }),
  ...actionRoutes('/account/sessions/end-others/', settings.endOtherSessions, { needs: 'actForOneself', recentSignIn: true }),
  ['GET',     '/account/security/',                              'page', 'session', 'account',   'none', showSecurityLogPage, { needs: 'viewSecurityLog' }],
  ['GET',     '/account/profile/',                               'page', 'session', 'account',   'none', redirectTo(SETTINGS_PATH), { needs: 'actForOneself' }],
  ['GET',     '/account/identities/:provider/link/',             'page', 'session', 'account',   'none', redirectTo(SETTINGS_PATH), { needs: 'actForOneself' }],
];

/** Sign-in without a provider, offered in local development only. */
export const LOCAL_SIGN_IN_PAGES: readonly HttpRoute[] = [
  ['POST', '/sign-in', 'page', 'visitor', 'account', 'form', signIn.localSignIn],
];
