import { redirectTo } from '../../../pipeline/redirect.ts';
import type { HttpRoute } from '../../../pipeline/route.ts';
import * as signIn from './signIn/handler.ts';
import * as restoreSignIn from './restore/handler.tsx';
import * as settings from './settings/handler.tsx';
import * as identities from './settings/signInMethodHandlers.tsx';
import { showSecurityLogPage } from './securityLog/handler.tsx';
import { SETTINGS_PATH } from './settings/outcomes.ts';

// biome-ignore format: aligned columns.
export const SIGN_IN_PAGES: readonly HttpRoute[] = [
  ['GET',     '/authentication/social/:provider/start',          'page', 'visitor', 'account',   'none', signIn.startProviderSignIn],
  ['GET',     '/authentication/social/:provider/callback',       'page', 'anyone',  'public',    'none', signIn.completeProviderSignIn],
  ['POST',    '/authentication/social/:provider/callback',       'page', 'anyone',  'public',    'form', signIn.completeProviderSignIn],
  ['GET',     '/sign-in',                                        'page', 'visitor', 'account',   'none', signIn.showSignInPage],
  ['GET',     '/restore-sign-in/:token',                         'page', 'anyone',  'public',    'none', restoreSignIn.confirmRestoreIdentity],
  ['POST',    '/restore-sign-in/:token',                         'page', 'anyone',  'public',    'none', restoreSignIn.submitRestoreIdentity],
  ['GET',     '/account/settings/',                              'page', 'session', 'account',   'none', settings.showSettingsPage],
  ['POST',    '/account/profile/',                               'page', 'session', 'account',   'form', settings.saveProfile],
  ['POST',    '/account/identities/:provider/link/',             'page', 'session', 'account',   'form', identities.startIdentityLink, { recentSignIn: true }],
  ['GET',     '/account/identities/:uuid/remove/',               'page', 'session', 'account',   'none', identities.removeSignInMethod.confirm, { recentSignIn: true }],
  ['POST',    '/account/identities/:uuid/remove/',               'page', 'session', 'account',   'form', identities.removeSignInMethod.submit, { recentSignIn: true }],
  ['GET',     '/account/sessions/:uuid/end/',                    'page', 'session', 'account',   'none', settings.endSession.confirm, { recentSignIn: true }],
  ['POST',    '/account/sessions/:uuid/end/',                    'page', 'session', 'account',   'form', settings.endSession.submit, { recentSignIn: true }],
  ['GET',     '/account/sessions/end-others/',                   'page', 'session', 'account',   'none', settings.endOtherSessions.confirm, { recentSignIn: true }],
  ['POST',    '/account/sessions/end-others/',                   'page', 'session', 'account',   'form', settings.endOtherSessions.submit, { recentSignIn: true }],
  ['GET',     '/account/security/',                              'page', 'session', 'account',   'none', showSecurityLogPage],
  ['GET',     '/account/profile/',                               'page', 'session', 'account',   'none', redirectTo(SETTINGS_PATH)],
  ['GET',     '/account/identities/:provider/link/',             'page', 'session', 'account',   'none', redirectTo(SETTINGS_PATH)],
];

/** Sign-in without a provider, offered in local development only. */
export const LOCAL_SIGN_IN_PAGES: readonly HttpRoute[] = [
  ['POST', '/sign-in', 'page', 'visitor', 'account', 'form', signIn.localSignIn],
];
