import { config } from '../shared/lib/config.ts';
import { perService } from '../shared/lib/serviceScope.ts';
import { isDevSignInAllowed } from '../shared/lib/signInSettings.ts';
import { ADMIN } from './features/admin/endpoints.ts';
import { AFFILIATE } from './features/affiliate/endpoints.ts';
import { openReferralLink } from './features/affiliate/referralLink.ts';
import { API_KEYS } from './features/apiKeys/endpoints.ts';
import { BILLING } from './features/billing/endpoints.ts';
import { GENERATIONS } from './features/generations/endpoints.ts';
import { MODELS } from './features/models/endpoints.ts';
import { NOTIFICATIONS } from './features/notifications/endpoints.ts';
import { SERVICE } from './features/health/endpoints.ts';
import { LOCAL_SIGN_IN, SESSION } from './features/session/endpoints.ts';
import { UPLOADS } from './features/uploads/endpoints.ts';
import { USAGE } from './features/usage/endpoints.ts';
import { WEBHOOKS } from './features/webhooks/endpoints.ts';
import { llmsText, serverJson } from './mcp/discovery.ts';
import * as mcp from './mcp/endpoint.ts';
import { showConsent, submitConsent } from './oauth/authorize/handler.ts';
import { apiResource, authorizationServer, jwks, mcpResource } from './oauth/metadata.ts';
import { register } from './oauth/register.ts';
import { revoke } from './oauth/revoke.ts';
import { token } from './oauth/token.ts';
import type { HttpRoute } from './pipeline/route.ts';
import { receiveUpstreamCallback } from './features/generations/upstreamCallback.ts';
import * as openapi from './openapi/routes.ts';
import { toRoutes } from './openapi/feature.ts';
import { receiveAppleEvent } from './features/session/appleEvents.ts';
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
  // The REST interface. docs/routes.md shows its rows, which are in the definitions.
  ...[GENERATIONS, UPLOADS, MODELS, API_KEYS, USAGE, WEBHOOKS, BILLING, NOTIFICATIONS, AFFILIATE, ADMIN, SERVICE, SESSION].flatMap(toRoutes),

  ['GET',     '/api/docs/',                                      'rest', 'anyone',  'public',    'none', openapi.docsPage],
  ['GET',     '/api/docs/:file',                                 'rest', 'anyone',  'public',    'none', openapi.docsFile],

  ['POST',    '/mcp',                                            'mcp',  'account', 'byMessage', 'raw',  mcp.post, { testKeysWrite: true, cors: 'anyOrigin' }],
  ['GET',     '/mcp',                                            'mcp',  'account', 'byMessage', 'none', mcp.get, { cors: 'anyOrigin' }],
  ['DELETE',  '/mcp',                                            'mcp',  'account', 'byMessage', 'none', mcp.deleteSession, { testKeysWrite: true, cors: 'anyOrigin' }],

  ['GET',     '/authentication/social/:provider/start',          'page', 'visitor', 'account',   'none', signIn.startProviderSignIn],
  ['GET',     '/authentication/social/:provider/callback',       'page', 'anyone',  'public',    'none', signIn.completeProviderSignIn],
  ['POST',    '/authentication/social/:provider/callback',       'page', 'anyone',  'public',    'form', signIn.completeProviderSignIn],

  ['GET',     '/',                                               'page', 'visitor', 'account',   'none', signIn.redirectToAccount],
  ['GET',     '/sign-in',                                        'page', 'visitor', 'account',   'none', signIn.showSignInPage],
  ['GET',     '/r/:code',                                        'page', 'visitor', 'account',   'none', openReferralLink],
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
  ...toRoutes(LOCAL_SIGN_IN),
  ['POST',    '/sign-in',                                        'page', 'visitor', 'account',   'form', signIn.localSignIn],
];

/** Returns the routes of this configuration. */
export const servedRoutes = perService(() =>
  isDevSignInAllowed(config) ? [...HTTP_ROUTES, ...LOCAL_SIGN_IN_ROUTES] : HTTP_ROUTES,
);

openapi.serveOpenApiDocument(servedRoutes);
