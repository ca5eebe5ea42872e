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
  ['GET',     '/account/settings/',                              'page', 'session', 'account',   'none', settings.showSettingsPage, { needs: 'actForOneself' }],
  ['POST',    '/account/profile/',                               'page', 'session', 'account',   'form', settings.saveProfile, { needs: 'actForOneself' }],
  ['POST',    '/account/identities/:provider/link/',             'page', 'session', 'account',   'form', identities.startIdentityLink, { needs: 'actForOneself', recentSignIn: true }],
  ['GET',     '/account/identities/:uuid/remove/',               'page', 'session', 'account',   'none', identities.removeSignInMethod.confirm, { needs: 'actForOneself', recentSignIn: true }],
  ['POST',    '/account/identities/:uuid/remove/',               'page', 'session', 'account',   'form', identities.removeSignInMethod.submit, { needs: 'actForOneself', recentSignIn: true }],
  ['GET',     '/account/sessions/:uuid/end/',                    'page', 'session', 'account',   'none', settings.endSession.confirm, { needs: 'actForOneself', recentSignIn: true }],
  ['POST',    '/account/sessions/:uuid/end/',                    'page', 'session', 'account',   'form', settings.endSession.submit, { needs: 'actForOneself', recentSignIn: true }],
  ['GET',     '/account/sessions/end-others/',                   'page', 'session', 'account',   'none', settings.endOtherSessions.confirm, { needs: 'actForOneself', recentSignIn: true }],
  ['POST',    '/account/sessions/end-others/',                   'page', 'session', 'account',   'form', settings.endOtherSessions.submit, { needs: 'actForOneself', recentSignIn: true }],
  ['GET',     '/account/security/',                              'page', 'session', 'account',   'none', showSecurityLogPage, { needs: 'viewSecurityLog' }],
  ['GET',     '/account/profile/',                               'page', 'session', 'account',   'none', redirectTo(SETTINGS_PATH), { needs: 'actForOneself' }],
  ['GET',     '/account/identities/:provider/link/',             'page', 'session', 'account',   'none', redirectTo(SETTINGS_PATH), { needs: 'actForOneself' }],
];

/** Sign-in without a provider, offered in local development only. */
export const LOCAL_SIGN_IN_PAGES: readonly HttpRoute[] = [
  ['POST', '/sign-in', 'page', 'visitor', 'account', 'form', signIn.localSignIn],
];
