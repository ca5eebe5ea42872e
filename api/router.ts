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
 * The whole interface: every address, who reads its responses, who may use it, how it is counted, the body that it takes,
 * and its policy: the access or the permission that it requires, and everything else that is decided before it runs.
 */
// biome-ignore format: aligned columns.
export const HTTP_ROUTES: readonly HttpRoute[] = [
  ['POST',    '/api/generations/create/',                        'rest', 'account', 'create',    'json', generations.create, { access: 'svc:write', testKeysWrite: true, hasImages: true }],
  ['POST',    '/api/generations/estimate/',                      'rest', 'account', 'account',   'json', generations.estimate, { access: 'svc:write', testKeysWrite: true, hasImages: true }],
  ['GET',     '/api/generations/',                               'rest', 'account', 'account',   'none', generations.list, { access: 'svc:read' }],
  ['GET',     '/api/generations/:uuid/',                         'rest', 'account', 'account',   'none', generations.read, { access: 'svc:read', readsGeneration: true }],
  ['DELETE',  '/api/generations/:uuid/',                         'rest', 'account', 'account',   'json', generations.remove, { access: 'svc:write', testKeysWrite: true }],
  ['POST',    '/api/generations/:uuid/cancel/',                  'rest', 'account', 'account',   'json', generations.cancel, { access: 'svc:write', testKeysWrite: true }],

  ['POST',    '/api/uploads/create/',                            'rest', 'account', 'account',   'json', uploads.create, { access: 'svc:write', testKeysWrite: true }],
  ['GET',     '/api/uploads/:uuid/',                             'rest', 'account', 'account',   'none', uploads.read, { access: 'svc:write' }],

  ['GET',     '/api/models/',                                    'rest', 'anyone',  'public',    'none', models.list],

  ['POST',    '/api/keys/create/',                               'rest', 'account', 'account',   'json', apiKeys.create, { access: 'unrestricted', recentSignIn: apiKeys.createsLiveKey }],
  ['GET',     '/api/keys/',                                      'rest', 'account', 'account',   'none', apiKeys.list, { access: 'account' }],
  ['PATCH',   '/api/keys/:uuid/',                                'rest', 'account', 'account',   'json', apiKeys.update, { access: 'unrestricted', recentSignIn: apiKeys.changesOptions }],
  ['POST',    '/api/keys/:uuid/revoke/',                         'rest', 'account', 'account',   'json', apiKeys.revoke, { access: 'account' }],

  ['GET',     '/api/usage/summary/',                             'rest', 'account', 'account',   'none', usage.summary, { access: 'svc:read' }],
  ['GET',     '/api/usage/keys/',                                'rest', 'account', 'account',   'none', usage.keys, { access: 'svc:read' }],
  ['GET',     '/api/ledger/',                                    'rest', 'account', 'account',   'none', usage.ledger, { access: 'svc:read' }],

  ['POST',    '/api/webhooks/create/',                           'rest', 'account', 'account',   'json', webhookEndpoints.create, { access: 'account', testKeysWrite: true }],
  ['GET',     '/api/webhooks/',                                  'rest', 'account', 'account',   'none', webhookEndpoints.list, { access: 'account' }],
  ['GET',     '/api/webhooks/default/secret/',                   'rest', 'session', 'account',   'none', webhookEndpoints.readDefaultSecret, { recentSignIn: true }],
  ['POST',    '/api/webhooks/default/rotate-secret/',            'rest', 'session', 'account',   'json', webhookEndpoints.rotateDefault, { recentSignIn: true }],
  ['GET',     '/api/webhooks/:uuid/',                            'rest', 'account', 'account',   'none', webhookEndpoints.read, { access: 'account' }],
  ['PATCH',   '/api/webhooks/:uuid/',                            'rest', 'account', 'account',   'json', webhookEndpoints.update, { access: 'account', testKeysWrite: true }],
  ['DELETE',  '/api/webhooks/:uuid/',                            'rest', 'account', 'account',   'json', webhookEndpoints.remove, { access: 'account', testKeysWrite: true }],
  ['POST',    '/api/webhooks/:uuid/rotate-secret/',              'rest', 'account', 'account',   'json', webhookEndpoints.rotate, { access: 'account', recentSignIn: true, testKeysWrite: true }],
  ['POST',    '/api/webhooks/:uuid/test/',                       'rest', 'account', 'account',   'json', webhookEndpoints.test, { access: 'account', testKeysWrite: true }],
  ['GET',     '/api/webhooks/:uuid/deliveries/',                 'rest', 'account', 'account',   'none', webhookEndpoints.deliveries, { access: 'account' }],
  ['POST',    '/api/webhooks/:uuid/deliveries/:delivery/redeliver/', 'rest', 'account', 'account',   'json', webhookEndpoints.redeliverOne, { access: 'account', testKeysWrite: true }],

  ['GET',     '/api/billing/plans/',                             'rest', 'anyone',  'public',    'none', billing.plans],
  ['GET',     '/api/billing/status/',                            'rest', 'account', 'account',   'none', billing.status, { access: 'svc:read' }],
  ['POST',    '/api/billing/checkout/',                          'rest', 'account', 'payment',   'json', billing.checkout, { access: 'account' }],
  ['POST',    '/api/billing/portal/',                            'rest', 'account', 'payment',   'json', billing.portal, { access: 'account' }],
  ['GET',     '/api/billing/invoices/',                          'rest', 'account', 'account',   'none', billing.invoices, { access: 'account' }],

  ['GET',     '/api/billing/topup/settings/',                    'rest', 'account', 'account',   'none', billing.readTopupSettings, { access: 'account' }],
  ['PATCH',   '/api/billing/topup/settings/',                    'rest', 'account', 'payment',   'json', billing.updateTopupSettings, { access: 'account' }],
  ['POST',    '/api/billing/topup/',                             'rest', 'account', 'payment',   'json', billing.topup, { access: 'account' }],
  ['POST',    '/api/billing/webhooks/processor/',                'rest', 'anyone',  'unlimited', 'raw',  webhooks.receiveProcessorEvent],

  ['GET',     '/api/notifications/settings/',                    'rest', 'account', 'account',   'none', notifications.readSettings, { access: 'account' }],
  ['PATCH',   '/api/notifications/settings/',                    'rest', 'account', 'account',   'json', notifications.updateSettings, { access: 'account' }],

  ['POST',    '/api/affiliate/enroll/',                          'rest', 'account', 'account',   'json', affiliate.enroll, { access: 'account' }],
  ['GET',     '/api/affiliate/status/',                          'rest', 'account', 'account',   'none', affiliate.status, { access: 'account' }],
  ['POST',    '/api/affiliate/onboarding-link/',                 'rest', 'account', 'payment',   'json', affiliate.createOnboardingLink, { access: 'account', recentSignIn: true }],

  ['GET',     '/api/admin/metrics/',                             'rest', 'account', 'account',   'none', admin.metrics, { permission: 'viewDashboard' }],

  ['GET',     '/api/health/',                                    'rest', 'anyone',  'unlimited', 'none', health, { isProbe: true }],
  ['GET',     '/api/serving/',                                   'rest', 'anyone',  'unlimited', 'none', serving, { isProbe: true }],
  ['GET',     '/api/ready/',                                     'rest', 'anyone',  'unlimited', 'none', ready, { isProbe: true }],
  ['GET',     '/api/openapi.json',                               'rest', 'anyone',  'public',    'none', openapi.openApiDocument(() => servedRoutes()), { cors: 'anyOrigin' }],
  ['GET',     '/api/docs/',                                      'rest', 'anyone',  'public',    'none', openapi.docsPage],
  ['GET',     '/api/docs/:file',                                 'rest', 'anyone',  'public',    'none', openapi.docsFile],

  ['GET',     '/authentication/social/config/',                  'json', 'anyone',  'public',    'none', session.socialConfig],
  ['GET',     '/authentication/me/',                             'json', 'session', 'account',   'none', session.me],
  ['PATCH',   '/authentication/me/',                             'json', 'session', 'account',   'json', session.updateMe],
  ['POST',    '/authentication/logout/',                         'json', 'session', 'account',   'json', session.logout],
  ['POST',    '/authentication/onboarding/advance/',             'json', 'session', 'account',   'json', session.advanceOnboarding],

  ['POST',    '/mcp',                                            'mcp',  'account', 'byMessage', 'raw',  mcp.post, { testKeysWrite: true, cors: 'anyOrigin' }],
  ['GET',     '/mcp',                                            'mcp',  'account', 'byMessage', 'none', mcp.get, { cors: 'anyOrigin' }],
  ['DELETE',  '/mcp',                                            'mcp',  'account', 'byMessage', 'none', mcp.deleteSession, { testKeysWrite: true, cors: 'anyOrigin' }],

  ['GET',     '/authentication/social/:provider/start',          'page', 'visitor', 'account',   'none', signIn.startProviderSignIn],
  ['GET',     '/authentication/social/:provider/callback',       'page', 'anyone',  'public',    'none', signIn.completeProviderSignIn],
  ['POST',    '/authentication/social/:provider/callback',       'page', 'anyone',  'public',    'form', signIn.completeProviderSignIn],

  ['GET',     '/',                                               'page', 'visitor', 'account',   'none', signIn.redirectToAccount],
  ['GET',     '/sign-in',                                        'page', 'visitor', 'account',   'none', signIn.showSignInPage],
  ['GET',     '/r/:code',                                        'page', 'visitor', 'account',   'none', affiliate.openReferralLink],
  // Links of messages. Mail programs post to those that unsubscribe by themselves.
  ['GET',     '/unsubscribe/:token',                             'page', 'anyone',  'public',    'none', unsubscribePages.confirmUnsubscribe],
  ['POST',    '/unsubscribe/:token',                             'page', 'anyone',  'public',    'none', unsubscribePages.submitUnsubscribe],
  ['GET',     '/restore-sign-in/:token',                         'page', 'anyone',  'public',    'none', restoreSignIn.confirmRestoreIdentity],
  ['POST',    '/restore-sign-in/:token',                         'page', 'anyone',  'public',    'none', restoreSignIn.submitRestoreIdentity],
  ['GET',     '/account/',                                       'page', 'session', 'account',   'none', account.showOverviewPage],
  ['GET',     '/account/billing/',                               'page', 'session', 'account',   'none', billingPage.showBillingPage],
  ['POST',    '/account/billing/topup/',                         'page', 'session', 'payment',   'form', billingPage.buyCredits],
  ['POST',    '/account/billing/auto-topup/',                    'page', 'session', 'payment',   'form', billingPage.saveAutoTopup],
  ['GET',     '/account/billing/invoices/:uuid/',                'page', 'session', 'payment',   'none', billingPage.openInvoice],
  ['POST',    '/account/plan/',                                  'page', 'session', 'payment',   'form', billingPage.choosePlan],
  ['POST',    '/account/portal/',                                'page', 'session', 'payment',   'form', billingPage.openBillingPortal],
  ['GET',     '/account/keys/',                                  'page', 'session', 'account',   'none', apiKeyPages.showKeysPage],
  ['GET',     '/account/connect/',                               'page', 'session', 'account',   'none', showConnectPage],
  ['GET',     '/account/applications/',                          'page', 'session', 'account',   'none', applications.showApplicationsPage],
  ['GET',     '/account/affiliate/',                             'page', 'session', 'account',   'none', affiliatePages.showAffiliatePage],
  ['GET',     '/account/settings/',                              'page', 'session', 'account',   'none', settings.showSettingsPage],
  ['GET',     '/account/usage/',                                 'page', 'session', 'account',   'none', showUsagePage],
  ['GET',     '/account/ledger/',                                'page', 'session', 'account',   'none', showLedgerPage],
  ['GET',     '/account/ledger/export/',                         'page', 'session', 'account',   'none', exportLedger],
  ['GET',     '/account/library/',                               'page', 'session', 'account',   'none', library.showLibraryPage],
  ['GET',     '/account/library/:uuid/',                         'page', 'session', 'account',   'none', library.showGenerationPage],
  ['GET',     '/account/library/:uuid/cancel/',                  'page', 'session', 'account',   'none', library.confirmCancelGeneration],
  ['POST',    '/account/library/:uuid/cancel/',                  'page', 'session', 'account',   'form', library.cancelFromLibrary],
  ['GET',     '/account/library/:uuid/delete/',                  'page', 'session', 'account',   'none', library.confirmDeleteGeneration],
  ['POST',    '/account/library/:uuid/delete/',                  'page', 'session', 'account',   'form', library.deleteFromLibrary],
  ['POST',    '/account/profile/',                               'page', 'session', 'account',   'form', settings.saveProfile],
  ['POST',    '/account/keys/',                                  'page', 'session', 'account',   'form', apiKeyPages.createKey, { recentSignIn: apiKeyPages.createsLiveKey }],
  ['GET',     '/account/keys/:uuid/',                            'page', 'session', 'account',   'none', apiKeyPages.showKeyPage, { recentSignIn: true }],
  ['POST',    '/account/keys/:uuid/',                            'page', 'session', 'account',   'form', apiKeyPages.saveKey, { recentSignIn: true }],
  ['GET',     '/account/keys/:uuid/revoke/',                     'page', 'session', 'account',   'none', apiKeyPages.confirmRevokeKey],
  ['POST',    '/account/keys/:uuid/revoke/',                     'page', 'session', 'account',   'form', apiKeyPages.revokeKey],
  ['GET',     '/account/webhooks/',                              'page', 'session', 'account',   'none', webhookPages.showWebhooksPage],
  ['POST',    '/account/webhooks/',                              'page', 'session', 'account',   'form', webhookPages.addEndpoint],
  ['GET',     '/account/webhooks/default/',                      'page', 'session', 'account',   'none', webhookPages.showDefaultPage],
  ['POST',    '/account/webhooks/default/',                      'page', 'session', 'account',   'form', webhookPages.submitDefaultPage, { recentSignIn: webhookPages.showsSecret }],
  ['GET',     '/account/webhooks/default/rotate/',               'page', 'session', 'account',   'none', webhookPages.confirmRotateDefaultSecret, { recentSignIn: true }],
  ['POST',    '/account/webhooks/default/rotate/',               'page', 'session', 'account',   'form', webhookPages.rotateDefault, { recentSignIn: true }],
  ['GET',     '/account/webhooks/:uuid/',                        'page', 'session', 'account',   'none', webhookPage.showEndpointPage],
  ['POST',    '/account/webhooks/:uuid/',                        'page', 'session', 'account',   'form', webhookPage.submitEndpointPage],
  ['GET',     '/account/webhooks/:uuid/rotate/',                 'page', 'session', 'account',   'none', webhookPage.confirmRotateSecret, { recentSignIn: true }],
  ['POST',    '/account/webhooks/:uuid/rotate/',                 'page', 'session', 'account',   'form', webhookPage.rotateEndpointSecret, { recentSignIn: true }],
  ['GET',     '/account/webhooks/:uuid/delete/',                 'page', 'session', 'account',   'none', webhookPage.confirmDeleteEndpoint],
  ['POST',    '/account/webhooks/:uuid/delete/',                 'page', 'session', 'account',   'form', webhookPage.deleteEndpointOfAccount],
  ['GET',     '/account/applications/:uuid/limit/',              'page', 'session', 'account',   'none', applications.showLimitPage],
  ['POST',    '/account/applications/:uuid/limit/',              'page', 'session', 'account',   'form', applications.saveApplicationLimit],
  ['GET',     '/account/applications/:uuid/end/',                'page', 'session', 'account',   'none', applications.confirmDisconnectApplication],
  ['POST',    '/account/applications/:uuid/end/',                'page', 'session', 'account',   'form', applications.disconnectConnectedApplication],
  ['POST',    '/account/identities/:provider/link/',             'page', 'session', 'account',   'form', identities.startIdentityLink, { recentSignIn: true }],
  ['GET',     '/account/identities/:uuid/remove/',               'page', 'session', 'account',   'none', identities.confirmRemoveIdentity, { recentSignIn: true }],
  ['POST',    '/account/identities/:uuid/remove/',               'page', 'session', 'account',   'form', identities.removeLinkedIdentity, { recentSignIn: true }],
  ['GET',     '/account/sessions/:uuid/end/',                    'page', 'session', 'account',   'none', settings.confirmEndSession, { recentSignIn: true }],
  ['POST',    '/account/sessions/:uuid/end/',                    'page', 'session', 'account',   'form', settings.endOneSession, { recentSignIn: true }],
  ['GET',     '/account/sessions/end-others/',                   'page', 'session', 'account',   'none', settings.confirmEndOtherSessions, { recentSignIn: true }],
  ['POST',    '/account/sessions/end-others/',                   'page', 'session', 'account',   'form', settings.endAllOtherSessions, { recentSignIn: true }],
  ['POST',    '/account/affiliate/',                             'page', 'session', 'account',   'form', affiliatePages.becomeAffiliate],
  ['POST',    '/account/payouts/',                               'page', 'session', 'payment',   'form', affiliatePages.startPayoutSetup, { recentSignIn: true }],
  ['GET',     '/account/payouts/again',                          'page', 'session', 'payment',   'none', affiliatePages.restartPayoutSetup, { recentSignIn: true }],
  ['GET',     '/account/payouts/returned',                       'page', 'session', 'payment',   'none', affiliatePages.completePayoutSetup],
  ['POST',    '/account/sign-out/',                              'page', 'session', 'account',   'form', account.signOut, { duringDeletion: true }],
  ['GET',     '/account/security/',                              'page', 'session', 'account',   'none', showSecurityLogPage],
  ['GET',     '/account/notifications/',                         'page', 'session', 'account',   'none', notificationPages.showNotificationsPage],
  ['POST',    '/account/notifications/',                         'page', 'session', 'account',   'form', notificationPages.saveNotifications],
  ['GET',     '/account/export/',                                'page', 'session', 'account',   'none', dataExport.showExportPage, { duringDeletion: true }],
  ['POST',    '/account/export/',                                'page', 'session', 'account',   'form', dataExport.downloadExport, { recentSignIn: true, duringDeletion: true }],
  ['GET',     '/account/delete/',                                'page', 'session', 'account',   'none', accountDeletion.showDeletionPage, { duringDeletion: true }],
  ['POST',    '/account/delete/',                                'page', 'session', 'account',   'form', accountDeletion.requestDeletion, { recentSignIn: true, duringDeletion: true }],
  ['POST',    '/account/delete/undo/',                           'page', 'session', 'account',   'form', accountDeletion.undoDeletion, { duringDeletion: true }],

  // Addresses of forms that respond with a page: people reload them or return to them after signing in again.
  ['GET',     '/account/plan/',                                  'page', 'session', 'account',   'none', billingPage.redirectToBillingPage],
  ['GET',     '/account/portal/',                                'page', 'session', 'account',   'none', billingPage.redirectToBillingPage],
  ['GET',     '/account/billing/topup/',                         'page', 'session', 'account',   'none', billingPage.redirectToBillingPage],
  ['GET',     '/account/billing/auto-topup/',                    'page', 'session', 'account',   'none', billingPage.redirectToBillingPage],
  ['GET',     '/account/profile/',                               'page', 'session', 'account',   'none', settings.redirectToSettingsPage],
  ['GET',     '/account/identities/:provider/link/',             'page', 'session', 'account',   'none', settings.redirectToSettingsPage],
  ['GET',     '/account/delete/undo/',                           'page', 'session', 'account',   'none', accountDeletion.redirectToDeletionPage, { duringDeletion: true }],
  ['GET',     '/account/payouts/',                               'page', 'session', 'account',   'none', affiliatePages.redirectToAffiliatePage],
  ['GET',     '/account/sign-out/',                              'page', 'session', 'account',   'none', account.redirectToOverviewPage, { duringDeletion: true }],

  ...STAFF_ROUTES,

  ['GET',     '/authorize',                                      'page', 'visitor', 'account',   'none', showConsent],
  ['POST',    '/authorize',                                      'page', 'visitor', 'account',   'form', submitConsent],
  ['POST',    '/token',                                          'json', 'anyone',  'byMessage', 'raw',  token, { cors: 'anyOrigin' }],
  ['POST',    '/register',                                       'json', 'anyone',  'byMessage', 'raw',  register, { cors: 'anyOrigin' }],
  ['POST',    '/revoke',                                         'json', 'anyone',  'byMessage', 'raw',  revoke, { cors: 'anyOrigin' }],
  ['GET',     '/jwks.json',                                      'json', 'anyone',  'unlimited', 'none', jwks, { cors: 'anyOrigin' }],
  ['GET',     '/.well-known/oauth-protected-resource',           'json', 'anyone',  'unlimited', 'none', mcpResource, { cors: 'anyOrigin' }],
  ['GET',     '/.well-known/oauth-protected-resource/mcp',       'json', 'anyone',  'unlimited', 'none', mcpResource, { cors: 'anyOrigin' }],
  ['GET',     '/.well-known/oauth-protected-resource/api',       'json', 'anyone',  'unlimited', 'none', apiResource, { cors: 'anyOrigin' }],
  ['GET',     '/.well-known/oauth-authorization-server',         'json', 'anyone',  'unlimited', 'none', authorizationServer, { cors: 'anyOrigin' }],
  ['GET',     '/.well-known/oauth-authorization-server/mcp',     'json', 'anyone',  'unlimited', 'none', authorizationServer, { cors: 'anyOrigin' }],
  ['GET',     '/server.json',                                    'json', 'anyone',  'public',    'none', serverJson],
  ['GET',     '/llms.txt',                                       'json', 'anyone',  'public',    'none', llmsText],

  // Usually served by a CDN, therefore not counted.
  ['GET',     '/assets/account.js',                              'json', 'anyone',  'unlimited', 'none', accountScript],
  ['GET',     '/assets/style.css',                               'json', 'anyone',  'unlimited', 'none', stylesheet],
  ['GET',     '/media/:shard/:token/:file',                      'json', 'anyone',  'unlimited', 'none', media, { cors: 'file' }],

  // Addresses with a token, which upstreams call once a run has ended.
  ['POST',    '/upstream-events/:token',                         'json', 'anyone',  'unlimited', 'raw',  receiveUpstreamCallback],

  // Signed notifications of sign-in providers.
  ['POST',    '/sign-in-events/apple',                           'json', 'anyone',  'unlimited', 'raw',  receiveAppleEvent],

  // Signed addresses of input images, if files are on disk.
  ['PUT',     '/uploads/:uuid/original',                         'json', 'anyone',  'public',    'raw',  receiveUpload, { cors: 'file' }],
  ['GET',     '/uploads/:uuid/:file',                            'json', 'anyone',  'unlimited', 'none', serveUpload, { cors: 'file' }],
];

/** Sign-in without a provider, offered in local development only. */
// biome-ignore format: aligned columns.
export const LOCAL_SIGN_IN_ROUTES: readonly HttpRoute[] = [
  ['POST',    '/authentication/dev/sign-in/',                    'json', 'anyone',  'public',    'json', session.signInWithoutProvider],
  ['POST',    '/sign-in',                                        'page', 'visitor', 'account',   'form', signIn.localSignIn],
];

/** Returns the routes of this configuration. */
export const servedRoutes = perService(() =>
  isDevSignInAllowed(config) ? [...HTTP_ROUTES, ...LOCAL_SIGN_IN_ROUTES] : HTTP_ROUTES,
);
