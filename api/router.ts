import { config } from '../shared/lib/config.ts';
import { perService } from '../shared/lib/serviceScope.ts';
import { isDevSignInAllowed } from '../shared/lib/signInSettings.ts';
import { llmsText, serverJson } from './mcp/discovery.ts';
import * as mcp from './mcp/endpoint.ts';
import { showConsent, submitConsent } from './oauth/authorize/handler.ts';
import { apiResource, authorizationServer, jwks, mcpResource } from './oauth/metadata.ts';
import { register } from './oauth/register.ts';
import { revoke } from './oauth/revoke.ts';
import { token } from './oauth/token.ts';
import type { HttpRoute } from './pipeline/route.ts';
import * as admin from './rest/admin/routes.ts';
import * as affiliate from './rest/affiliate/routes.ts';
import * as apiKeys from './rest/apiKeys/routes.ts';
import * as billing from './rest/billing/routes.ts';
import * as webhooks from './rest/billing/paymentWebhook.ts';
import * as generations from './rest/generations/routes.ts';
import { receiveUpstreamCallback } from './rest/generations/upstreamCallback.ts';
import { health, ready, serving } from './rest/health/routes.ts';
import * as models from './rest/models/routes.ts';
import * as notifications from './rest/notifications/routes.ts';
import * as openapi from './rest/openapi/routes.ts';
import { receiveAppleEvent } from './rest/session/appleEvents.ts';
import * as session from './rest/session/routes.ts';
import * as uploads from './rest/uploads/routes.ts';
import * as usage from './rest/usage/routes.ts';
import * as webhookEndpoints from './rest/webhooks/routes.ts';
import { accountScript } from './static/accountScript.ts';
import { media } from './static/media.ts';
import { stylesheet } from './static/stylesheet.ts';
import { receiveUpload, serveUpload } from './static/uploads.ts';
import * as account from './web/account/handler.ts';
import * as accountDeletion from './web/accountDeletion/handler.ts';
import * as affiliatePages from './web/affiliate/handler.ts';
import * as apiKeyPages from './web/apiKeys/handler.tsx';
import * as dataExport from './web/dataExport/handler.tsx';
import { showSecurityLogPage } from './web/securityLog/handler.tsx';
import * as applications from './web/applications/handler.tsx';
import { showConnectPage } from './web/connect/handler.tsx';
import * as settings from './web/settings/handler.tsx';
import * as identities from './web/settings/signInMethodHandlers.ts';
import * as billingPage from './web/billing/handler.ts';
import { exportLedger, showLedgerPage } from './web/ledger/handler.tsx';
import * as library from './web/library/handler.tsx';
import * as notificationPages from './web/notifications/handler.tsx';
import * as webhookPages from './web/webhooks/handler.tsx';
import * as webhookPage from './web/webhooks/endpointHandler.tsx';
import * as restoreSignIn from './web/restoreSignIn/handler.tsx';
import { showUsagePage } from './web/usage/handler.tsx';
import * as signIn from './web/signIn/handler.ts';
import { STAFF_ROUTES } from './web/staff/routes.ts';
import * as unsubscribePages from './web/unsubscribe/handler.tsx';

/**
 * The whole interface: every address, who may use it, how it is counted, the body that it takes, the access or the
 * permission that it requires, and the requests for which a session must have a recent sign-in.
 */
// biome-ignore format: aligned columns.
export const HTTP_ROUTES: readonly HttpRoute[] = [
  ['POST',   '/api/generations/create/',                         'deferredKey',     'create',    'json', generations.create, 'svc:write'],
  ['POST',   '/api/generations/estimate/',                       'deferredKey',     'account',   'json', generations.estimate, 'svc:write'],
  ['GET',    '/api/generations/',                                'account',         'account',   'none', generations.list, 'svc:read'],
  ['GET',    '/api/generations/:uuid/',                          'deferredKey',     'account',   'none', generations.read, 'svc:read'],
  ['DELETE', '/api/generations/:uuid/',                          'deferredKey',     'account',   'json', generations.remove, 'svc:write'],
  ['POST',   '/api/generations/:uuid/cancel/',                   'deferredKey',     'account',   'json', generations.cancel, 'svc:write'],

  ['POST',   '/api/uploads/create/',                             'account',         'account',   'json', uploads.create, 'svc:write'],
  ['GET',    '/api/uploads/:uuid/',                              'account',         'account',   'none', uploads.read, 'svc:write'],

  ['GET',    '/api/models/',                                     'none',            'public',    'none', models.list],

  ['POST',   '/api/keys/create/',                                'account',         'account',   'json', apiKeys.create, 'unrestricted', apiKeys.createsLiveKey],
  ['GET',    '/api/keys/',                                       'account',         'account',   'none', apiKeys.list, 'account'],
  ['PATCH',  '/api/keys/:uuid/',                                 'account',         'account',   'json', apiKeys.update, 'unrestricted', apiKeys.changesOptions],
  ['POST',   '/api/keys/:uuid/revoke/',                          'account',         'account',   'json', apiKeys.revoke, 'account'],

  ['GET',    '/api/usage/summary/',                              'account',         'account',   'none', usage.summary, 'svc:read'],
  ['GET',    '/api/usage/keys/',                                 'account',         'account',   'none', usage.keys, 'svc:read'],
  ['GET',    '/api/ledger/',                                     'account',         'account',   'none', usage.ledger, 'svc:read'],

  ['POST',   '/api/webhooks/create/',                            'account',         'account',   'json', webhookEndpoints.create, 'account'],
  ['GET',    '/api/webhooks/',                                   'account',         'account',   'none', webhookEndpoints.list, 'account'],
  ['GET',    '/api/webhooks/default/secret/',                    'session',         'account',   'none', webhookEndpoints.readDefaultSecret, 'recentSignIn'],
  ['POST',   '/api/webhooks/default/rotate-secret/',             'session',         'account',   'json', webhookEndpoints.rotateDefault, 'recentSignIn'],
  ['GET',    '/api/webhooks/:uuid/',                             'account',         'account',   'none', webhookEndpoints.read, 'account'],
  ['PATCH',  '/api/webhooks/:uuid/',                             'account',         'account',   'json', webhookEndpoints.update, 'account'],
  ['DELETE', '/api/webhooks/:uuid/',                             'account',         'account',   'json', webhookEndpoints.remove, 'account'],
  ['POST',   '/api/webhooks/:uuid/rotate-secret/',               'account',         'account',   'json', webhookEndpoints.rotate, 'account', 'recentSignIn'],
  ['POST',   '/api/webhooks/:uuid/test/',                        'account',         'account',   'json', webhookEndpoints.test, 'account'],
  ['GET',    '/api/webhooks/:uuid/deliveries/',                  'account',         'account',   'none', webhookEndpoints.deliveries, 'account'],
  ['POST',   '/api/webhooks/:uuid/deliveries/:delivery/redeliver/', 'account',      'account',   'json', webhookEndpoints.redeliverOne, 'account'],

  ['GET',    '/api/billing/plans/',                              'none',            'public',    'none', billing.plans],
  ['GET',    '/api/billing/status/',                             'account',         'account',   'none', billing.status, 'svc:read'],
  ['POST',   '/api/billing/checkout/',                           'account',         'payment',   'json', billing.checkout, 'account'],
  ['POST',   '/api/billing/portal/',                             'account',         'payment',   'json', billing.portal, 'account'],
  ['GET',    '/api/billing/invoices/',                           'account',         'account',   'none', billing.invoices, 'account'],

  ['GET',    '/api/billing/topup/settings/',                     'account',         'account',   'none', billing.readTopupSettings, 'account'],
  ['PATCH',  '/api/billing/topup/settings/',                     'account',         'payment',   'json', billing.updateTopupSettings, 'account'],
  ['POST',   '/api/billing/topup/',                              'account',         'payment',   'json', billing.topup, 'account'],
  ['POST',   '/api/billing/webhooks/processor/',                 'none',            'unlimited', 'raw',  webhooks.receiveProcessorEvent],

  ['GET',    '/api/notifications/settings/',                     'account',         'account',   'none', notifications.readSettings, 'account'],
  ['PATCH',  '/api/notifications/settings/',                     'account',         'account',   'json', notifications.updateSettings, 'account'],

  ['POST',   '/api/affiliate/enroll/',                           'account',         'account',   'json', affiliate.enroll, 'account'],
  ['GET',    '/api/affiliate/status/',                           'account',         'account',   'none', affiliate.status, 'account'],
  ['POST',   '/api/affiliate/onboarding-link/',                  'account',         'payment',   'json', affiliate.createOnboardingLink, 'account', 'recentSignIn'],

  ['GET',    '/api/admin/metrics/',                              'staff',           'account',   'none', admin.metrics, 'viewDashboard'],

  ['GET',    '/api/health/',                                     'none',            'unlimited', 'none', health],
  ['GET',    '/api/serving/',                                    'none',            'unlimited', 'none', serving],
  ['GET',    '/api/ready/',                                      'none',            'unlimited', 'none', ready],
  ['GET',    '/api/openapi.json',                                'none',            'public',    'none', openapi.openApiDocument(() => servedRoutes())],
  ['GET',    '/api/docs/',                                       'none',            'public',    'none', openapi.docsPage],
  ['GET',    '/api/docs/:file',                                  'none',            'public',    'none', openapi.docsFile],

  ['GET',    '/authentication/social/config/',                   'none',            'public',    'none', session.socialConfig],
  ['GET',    '/authentication/me/',                              'session',         'account',   'none', session.me],
  ['PATCH',  '/authentication/me/',                              'session',         'account',   'json', session.updateMe],
  ['POST',   '/authentication/logout/',                          'session',         'account',   'json', session.logout],
  ['POST',   '/authentication/onboarding/advance/',              'session',         'account',   'json', session.advanceOnboarding],

  ['POST',   '/mcp',                                             'mcp',             'byMessage', 'raw',  mcp.post],
  ['GET',    '/mcp',                                             'mcp',             'byMessage', 'none', mcp.get],
  ['DELETE', '/mcp',                                             'mcp',             'byMessage', 'none', mcp.deleteSession],

  ['GET',    '/authentication/social/:provider/start',           'optionalSession', 'account',   'none', signIn.startProviderSignIn],
  ['GET',    '/authentication/social/:provider/callback',        'oauthCallback',   'public',    'none', signIn.completeProviderSignIn],
  ['POST',   '/authentication/social/:provider/callback',        'oauthCallback',   'public',    'form', signIn.completeProviderSignIn],

  ['GET',    '/',                                                'optionalSession', 'account',   'none', signIn.redirectToAccount],
  ['GET',    '/sign-in',                                         'optionalSession', 'account',   'none', signIn.showSignInPage],
  ['GET',    '/r/:code',                                         'optionalSession', 'account',   'none', affiliate.openReferralLink],
  // Links of messages. Mail programs post to those that unsubscribe by themselves.
  ['GET',    '/unsubscribe/:token',                              'signedLink',      'public',    'none', unsubscribePages.confirmUnsubscribe],
  ['POST',   '/unsubscribe/:token',                              'signedLink',      'public',    'none', unsubscribePages.submitUnsubscribe],
  ['GET',    '/restore-sign-in/:token',                          'signedLink',      'public',    'none', restoreSignIn.confirmRestoreIdentity],
  ['POST',   '/restore-sign-in/:token',                          'signedLink',      'public',    'none', restoreSignIn.submitRestoreIdentity],
  ['GET',    '/account/',                                        'pageSession',     'account',   'none', account.showOverviewPage],
  ['GET',    '/account/billing/',                                'pageSession',     'account',   'none', billingPage.showBillingPage],
  ['POST',   '/account/billing/topup/',                          'pageSession',     'payment',   'form', billingPage.buyCredits],
  ['POST',   '/account/billing/auto-topup/',                     'pageSession',     'payment',   'form', billingPage.saveAutoTopup],
  ['GET',    '/account/billing/invoices/:uuid/',                 'pageSession',     'payment',   'none', billingPage.openInvoice],
  ['POST',   '/account/plan/',                                   'pageSession',     'payment',   'form', billingPage.choosePlan],
  ['POST',   '/account/portal/',                                 'pageSession',     'payment',   'form', billingPage.openBillingPortal],
  ['GET',    '/account/keys/',                                   'pageSession',     'account',   'none', apiKeyPages.showKeysPage],
  ['GET',    '/account/connect/',                                'pageSession',     'account',   'none', showConnectPage],
  ['GET',    '/account/applications/',                           'pageSession',     'account',   'none', applications.showApplicationsPage],
  ['GET',    '/account/affiliate/',                              'pageSession',     'account',   'none', affiliatePages.showAffiliatePage],
  ['GET',    '/account/settings/',                               'pageSession',     'account',   'none', settings.showSettingsPage],
  ['GET',    '/account/usage/',                                  'pageSession',     'account',   'none', showUsagePage],
  ['GET',    '/account/ledger/',                                 'pageSession',     'account',   'none', showLedgerPage],
  ['GET',    '/account/ledger/export/',                          'pageSession',     'account',   'none', exportLedger],
  ['GET',    '/account/library/',                                'pageSession',     'account',   'none', library.showLibraryPage],
  ['GET',    '/account/library/:uuid/',                          'pageSession',     'account',   'none', library.showGenerationPage],
  ['GET',    '/account/library/:uuid/cancel/',                   'pageSession',     'account',   'none', library.confirmCancelGeneration],
  ['POST',   '/account/library/:uuid/cancel/',                   'pageSession',     'account',   'form', library.cancelFromLibrary],
  ['GET',    '/account/library/:uuid/delete/',                   'pageSession',     'account',   'none', library.confirmDeleteGeneration],
  ['POST',   '/account/library/:uuid/delete/',                   'pageSession',     'account',   'form', library.deleteFromLibrary],
  ['POST',   '/account/profile/',                                'pageSession',     'account',   'form', settings.saveProfile],
  ['POST',   '/account/keys/',                                   'pageSession',     'account',   'form', apiKeyPages.createKey, apiKeyPages.createsLiveKey],
  ['GET',    '/account/keys/:uuid/',                             'pageSession',     'account',   'none', apiKeyPages.showKeyPage, 'recentSignIn'],
  ['POST',   '/account/keys/:uuid/',                             'pageSession',     'account',   'form', apiKeyPages.saveKey, 'recentSignIn'],
  ['GET',    '/account/keys/:uuid/revoke/',                      'pageSession',     'account',   'none', apiKeyPages.confirmRevokeKey],
  ['POST',   '/account/keys/:uuid/revoke/',                      'pageSession',     'account',   'form', apiKeyPages.revokeKey],
  ['GET',    '/account/webhooks/',                               'pageSession',     'account',   'none', webhookPages.showWebhooksPage],
  ['POST',   '/account/webhooks/',                               'pageSession',     'account',   'form', webhookPages.addEndpoint],
  ['GET',    '/account/webhooks/default/',                       'pageSession',     'account',   'none', webhookPages.showDefaultPage],
  ['POST',   '/account/webhooks/default/',                       'pageSession',     'account',   'form', webhookPages.submitDefaultPage, webhookPages.showsSecret],
  ['GET',    '/account/webhooks/default/rotate/',                'pageSession',     'account',   'none', webhookPages.confirmRotateDefaultSecret, 'recentSignIn'],
  ['POST',   '/account/webhooks/default/rotate/',                'pageSession',     'account',   'form', webhookPages.rotateDefault, 'recentSignIn'],
  ['GET',    '/account/webhooks/:uuid/',                         'pageSession',     'account',   'none', webhookPage.showEndpointPage],
  ['POST',   '/account/webhooks/:uuid/',                         'pageSession',     'account',   'form', webhookPage.submitEndpointPage],
  ['GET',    '/account/webhooks/:uuid/rotate/',                  'pageSession',     'account',   'none', webhookPage.confirmRotateSecret, 'recentSignIn'],
  ['POST',   '/account/webhooks/:uuid/rotate/',                  'pageSession',     'account',   'form', webhookPage.rotateEndpointSecret, 'recentSignIn'],
  ['GET',    '/account/webhooks/:uuid/delete/',                  'pageSession',     'account',   'none', webhookPage.confirmDeleteEndpoint],
  ['POST',   '/account/webhooks/:uuid/delete/',                  'pageSession',     'account',   'form', webhookPage.deleteEndpointOfAccount],
  ['GET',    '/account/applications/:uuid/limit/',               'pageSession',     'account',   'none', applications.showLimitPage],
  ['POST',   '/account/applications/:uuid/limit/',               'pageSession',     'account',   'form', applications.saveApplicationLimit],
  ['GET',    '/account/applications/:uuid/end/',                 'pageSession',     'account',   'none', applications.confirmDisconnectApplication],
  ['POST',   '/account/applications/:uuid/end/',                 'pageSession',     'account',   'form', applications.disconnectConnectedApplication],
  ['POST',   '/account/identities/:provider/link/',              'pageSession',     'account',   'form', identities.startIdentityLink, 'recentSignIn'],
  ['GET',    '/account/identities/:uuid/remove/',                'pageSession',     'account',   'none', identities.confirmRemoveIdentity, 'recentSignIn'],
  ['POST',   '/account/identities/:uuid/remove/',                'pageSession',     'account',   'form', identities.removeLinkedIdentity, 'recentSignIn'],
  ['GET',    '/account/sessions/:uuid/end/',                     'pageSession',     'account',   'none', settings.confirmEndSession, 'recentSignIn'],
  ['POST',   '/account/sessions/:uuid/end/',                     'pageSession',     'account',   'form', settings.endOneSession, 'recentSignIn'],
  ['GET',    '/account/sessions/end-others/',                    'pageSession',     'account',   'none', settings.confirmEndOtherSessions, 'recentSignIn'],
  ['POST',   '/account/sessions/end-others/',                    'pageSession',     'account',   'form', settings.endAllOtherSessions, 'recentSignIn'],
  ['POST',   '/account/affiliate/',                              'pageSession',     'account',   'form', affiliatePages.becomeAffiliate],
  ['POST',   '/account/payouts/',                                'pageSession',     'payment',   'form', affiliatePages.startPayoutSetup, 'recentSignIn'],
  ['GET',    '/account/payouts/again',                           'pageSession',     'payment',   'none', affiliatePages.restartPayoutSetup, 'recentSignIn'],
  ['GET',    '/account/payouts/returned',                        'pageSession',     'payment',   'none', affiliatePages.completePayoutSetup],
  ['POST',   '/account/sign-out/',                               'pageSession',     'account',   'form', account.signOut],
  ['GET',    '/account/security/',                               'pageSession',     'account',   'none', showSecurityLogPage],
  ['GET',    '/account/notifications/',                          'pageSession',     'account',   'none', notificationPages.showNotificationsPage],
  ['POST',   '/account/notifications/',                          'pageSession',     'account',   'form', notificationPages.saveNotifications],
  ['GET',    '/account/export/',                                 'pageSession',     'account',   'none', dataExport.showExportPage],
  ['POST',   '/account/export/',                                 'pageSession',     'account',   'form', dataExport.downloadExport, 'recentSignIn'],
  ['GET',    '/account/delete/',                                 'pageSession',     'account',   'none', accountDeletion.showDeletionPage],
  ['POST',   '/account/delete/',                                 'pageSession',     'account',   'form', accountDeletion.requestDeletion, 'recentSignIn'],
  ['POST',   '/account/delete/undo/',                            'pageSession',     'account',   'form', accountDeletion.undoDeletion],

  // Addresses of forms that respond with a page: people reload them or return to them after signing in again.
  ['GET',    '/account/plan/',                                   'pageSession',     'account',   'none', billingPage.redirectToBillingPage],
  ['GET',    '/account/portal/',                                 'pageSession',     'account',   'none', billingPage.redirectToBillingPage],
  ['GET',    '/account/billing/topup/',                          'pageSession',     'account',   'none', billingPage.redirectToBillingPage],
  ['GET',    '/account/billing/auto-topup/',                     'pageSession',     'account',   'none', billingPage.redirectToBillingPage],
  ['GET',    '/account/profile/',                                'pageSession',     'account',   'none', settings.redirectToSettingsPage],
  ['GET',    '/account/identities/:provider/link/',              'pageSession',     'account',   'none', settings.redirectToSettingsPage],
  ['GET',    '/account/delete/undo/',                            'pageSession',     'account',   'none', accountDeletion.redirectToDeletionPage],
  ['GET',    '/account/payouts/',                                'pageSession',     'account',   'none', affiliatePages.redirectToAffiliatePage],
  ['GET',    '/account/sign-out/',                               'pageSession',     'account',   'none', account.redirectToOverviewPage],

  ...STAFF_ROUTES,

  ['GET',    '/authorize',                                       'optionalSession', 'account',   'none', showConsent],
  ['POST',   '/authorize',                                       'optionalSession', 'account',   'form', submitConsent],
  ['POST',   '/token',                                           'none',            'byMessage', 'raw',  token],
  ['POST',   '/register',                                        'none',            'byMessage', 'raw',  register],
  ['POST',   '/revoke',                                          'none',            'byMessage', 'raw',  revoke],
  ['GET',    '/jwks.json',                                       'none',            'unlimited', 'none', jwks],
  ['GET',    '/.well-known/oauth-protected-resource',            'none',            'unlimited', 'none', mcpResource],
  ['GET',    '/.well-known/oauth-protected-resource/mcp',        'none',            'unlimited', 'none', mcpResource],
  ['GET',    '/.well-known/oauth-protected-resource/api',        'none',            'unlimited', 'none', apiResource],
  ['GET',    '/.well-known/oauth-authorization-server',          'none',            'unlimited', 'none', authorizationServer],
  ['GET',    '/.well-known/oauth-authorization-server/mcp',      'none',            'unlimited', 'none', authorizationServer],
  ['GET',    '/server.json',                                     'none',            'public',    'none', serverJson],
  ['GET',    '/llms.txt',                                        'none',            'public',    'none', llmsText],

  // Usually served by a CDN, therefore not counted.
  ['GET',    '/assets/account.js',                               'none',            'unlimited', 'none', accountScript],
  ['GET',    '/assets/style.css',                                'none',            'unlimited', 'none', stylesheet],
  ['GET',    '/media/:shard/:token/:file',                       'none',            'unlimited', 'none', media],

  // Addresses with a token, which upstreams call once a run has ended.
  ['POST',   '/upstream-events/:token',                          'none',            'unlimited', 'raw',  receiveUpstreamCallback],

  // Signed notifications of sign-in providers.
  ['POST',   '/sign-in-events/apple',                            'none',            'unlimited', 'raw',  receiveAppleEvent],

  // Signed addresses of input images, if files are on disk.
  ['PUT',    '/uploads/:uuid/original',                          'none',            'public',    'raw',  receiveUpload],
  ['GET',    '/uploads/:uuid/:file',                             'none',            'unlimited', 'none', serveUpload],
];

/** Sign-in without a provider, offered in local development only. */
// biome-ignore format: aligned columns.
export const LOCAL_SIGN_IN_ROUTES: readonly HttpRoute[] = [
  ['POST',   '/authentication/dev/sign-in/',                     'none',            'public',    'json', session.signInWithoutProvider],
  ['POST',   '/sign-in',                                         'optionalSession', 'account',   'form', signIn.localSignIn],
];

/** Returns the routes of this configuration. */
export const servedRoutes = perService(() =>
  isDevSignInAllowed(config) ? [...HTTP_ROUTES, ...LOCAL_SIGN_IN_ROUTES] : HTTP_ROUTES,
);
