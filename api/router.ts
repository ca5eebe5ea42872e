import { config } from '../shared/lib/config.ts';
import { perService } from '../shared/lib/serviceScope.ts';
import { isDevSignInAllowed } from '../shared/lib/signInSettings.ts';
import type { StaffPermission } from '../shared/spec/staff.ts';
import type { Handler } from './context.ts';
import { llmsText, serverJson } from './mcp/discovery.ts';
import * as mcp from './mcp/endpoint.ts';
import { showConsent, submitConsent } from './oauth/authorize/handler.ts';
import { authorizationServer, jwks, protectedResource } from './oauth/metadata.ts';
import { register } from './oauth/register.ts';
import { revoke } from './oauth/revoke.ts';
import { token } from './oauth/token.ts';
import type { Authentication, RouteBody, RouteRateLimit } from './pipeline/route.ts';
import * as admin from './rest/admin/routes.ts';
import * as affiliate from './rest/affiliate/routes.ts';
import * as apiKeys from './rest/apiKeys/routes.ts';
import * as billing from './rest/billing/routes.ts';
import * as webhooks from './rest/billing/webhook.ts';
import * as generations from './rest/generations/routes.ts';
import { health, ready, serving } from './rest/health/routes.ts';
import * as models from './rest/models/routes.ts';
import * as notifications from './rest/notifications/routes.ts';
import * as openapi from './rest/openapi/routes.ts';
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
import { showUsagePage } from './web/usage/handler.tsx';
import * as signIn from './web/signIn/handler.ts';
import * as staffAccount from './web/staff/account/handler.tsx';
import { showAccountSearch } from './web/staff/accountSearch.tsx';
import * as accountActions from './web/staff/actions/accountActions.tsx';
import * as creditActions from './web/staff/actions/creditActions.tsx';
import * as generationActions from './web/staff/actions/generationActions.tsx';
import { showAuditLog } from './web/staff/audit.tsx';
import * as staffGeneration from './web/staff/generation.tsx';
import { queueBoard } from './web/staff/queueBoard.ts';
import * as reports from './web/staff/reports/handler.ts';
import * as unsubscribePages from './web/unsubscribe/handler.tsx';

type RouteMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | '*';
/** Method `*` and a path that ends in `/*` stand for all methods and all paths below. */
export type HttpRoute = readonly [
  method: RouteMethod,
  path: string,
  authentication: Authentication,
  rateLimit: RouteRateLimit,
  body: RouteBody,
  handler: Handler,
  /** Required for staff routes, and for no others. */
  permission?: StaffPermission,
];

/** The whole interface: every address, who may use it, how it is counted, and the body that it takes. */
// biome-ignore format: aligned columns.
export const HTTP_ROUTES: readonly HttpRoute[] = [
  ['POST',   '/api/generations/create/',                         'deferredKey',     'create',    'json', generations.create],
  ['POST',   '/api/generations/estimate/',                       'deferredKey',     'account',   'json', generations.estimate],
  ['GET',    '/api/generations/',                                'account',         'account',   'none', generations.list],
  ['GET',    '/api/generations/:uuid/',                          'deferredKey',     'account',   'none', generations.read],
  ['DELETE', '/api/generations/:uuid/',                          'account',         'account',   'json', generations.remove],
  ['POST',   '/api/generations/:uuid/cancel/',                   'account',         'account',   'json', generations.cancel],

  ['POST',   '/api/uploads/create/',                             'account',         'account',   'json', uploads.create],
  ['GET',    '/api/uploads/:uuid/',                              'account',         'account',   'none', uploads.read],

  ['GET',    '/api/models/',                                     'none',            'public',    'none', models.list],

  ['POST',   '/api/keys/create/',                                'account',         'account',   'json', apiKeys.create],
  ['GET',    '/api/keys/',                                       'account',         'account',   'none', apiKeys.list],
  ['POST',   '/api/keys/:uuid/revoke/',                          'account',         'account',   'json', apiKeys.revoke],

  ['GET',    '/api/usage/summary/',                              'account',         'account',   'none', usage.summary],
  ['GET',    '/api/usage/keys/',                                 'account',         'account',   'none', usage.keys],
  ['GET',    '/api/ledger/',                                     'account',         'account',   'none', usage.ledger],

  ['POST',   '/api/webhooks/create/',                            'account',         'account',   'json', webhookEndpoints.create],
  ['GET',    '/api/webhooks/',                                   'account',         'account',   'none', webhookEndpoints.list],
  ['GET',    '/api/webhooks/default/secret/',                    'session',         'account',   'none', webhookEndpoints.readDefaultSecret],
  ['POST',   '/api/webhooks/default/rotate-secret/',             'session',         'account',   'json', webhookEndpoints.rotateDefault],
  ['GET',    '/api/webhooks/:uuid/',                             'account',         'account',   'none', webhookEndpoints.read],
  ['PATCH',  '/api/webhooks/:uuid/',                             'account',         'account',   'json', webhookEndpoints.update],
  ['DELETE', '/api/webhooks/:uuid/',                             'account',         'account',   'json', webhookEndpoints.remove],
  ['POST',   '/api/webhooks/:uuid/rotate-secret/',               'account',         'account',   'json', webhookEndpoints.rotate],
  ['POST',   '/api/webhooks/:uuid/test/',                        'account',         'account',   'json', webhookEndpoints.test],
  ['GET',    '/api/webhooks/:uuid/deliveries/',                  'account',         'account',   'none', webhookEndpoints.deliveries],
  ['POST',   '/api/webhooks/:uuid/deliveries/:delivery/redeliver/', 'account',      'account',   'json', webhookEndpoints.redeliverOne],

  ['GET',    '/api/billing/plans/',                              'none',            'public',    'none', billing.plans],
  ['GET',    '/api/billing/status/',                             'account',         'account',   'none', billing.status],
  ['POST',   '/api/billing/checkout/',                           'account',         'payment',   'json', billing.checkout],
  ['POST',   '/api/billing/portal/',                             'account',         'payment',   'json', billing.portal],
  ['GET',    '/api/billing/invoices/',                           'account',         'account',   'none', billing.invoices],

  ['GET',    '/api/billing/topup/settings/',                     'account',         'account',   'none', billing.readTopupSettings],
  ['PATCH',  '/api/billing/topup/settings/',                     'account',         'payment',   'json', billing.updateTopupSettings],
  ['POST',   '/api/billing/topup/',                              'account',         'payment',   'json', billing.topup],
  ['POST',   '/api/billing/webhooks/processor/',                 'none',            'unlimited', 'raw',  webhooks.receiveProcessorEvent],

  ['GET',    '/api/notifications/settings/',                     'account',         'account',   'none', notifications.readSettings],
  ['PATCH',  '/api/notifications/settings/',                     'account',         'account',   'json', notifications.updateSettings],

  ['POST',   '/api/affiliate/enroll/',                           'account',         'account',   'json', affiliate.enroll],
  ['GET',    '/api/affiliate/status/',                           'account',         'account',   'none', affiliate.status],
  ['POST',   '/api/affiliate/onboarding-link/',                  'account',         'payment',   'json', affiliate.createOnboardingLink],

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
  // Links of messages. Mail programs post to them by themselves.
  ['GET',    '/unsubscribe/:token',                              'signedLink',      'public',    'none', unsubscribePages.confirmUnsubscribe],
  ['POST',   '/unsubscribe/:token',                              'signedLink',      'public',    'none', unsubscribePages.submitUnsubscribe],
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
  ['POST',   '/account/keys/',                                   'pageSession',     'account',   'form', apiKeyPages.createKey],
  ['GET',    '/account/keys/:uuid/revoke/',                      'pageSession',     'account',   'none', apiKeyPages.confirmRevokeKey],
  ['POST',   '/account/keys/:uuid/revoke/',                      'pageSession',     'account',   'form', apiKeyPages.revokeKey],
  ['GET',    '/account/webhooks/',                               'pageSession',     'account',   'none', webhookPages.showWebhooksPage],
  ['POST',   '/account/webhooks/',                               'pageSession',     'account',   'form', webhookPages.addEndpoint],
  ['GET',    '/account/webhooks/default/',                       'pageSession',     'account',   'none', webhookPages.showDefaultPage],
  ['POST',   '/account/webhooks/default/',                       'pageSession',     'account',   'form', webhookPages.submitDefaultPage],
  ['GET',    '/account/webhooks/default/rotate/',                'pageSession',     'account',   'none', webhookPages.confirmRotateDefaultSecret],
  ['POST',   '/account/webhooks/default/rotate/',                'pageSession',     'account',   'form', webhookPages.rotateDefault],
  ['GET',    '/account/webhooks/:uuid/',                         'pageSession',     'account',   'none', webhookPage.showEndpointPage],
  ['POST',   '/account/webhooks/:uuid/',                         'pageSession',     'account',   'form', webhookPage.submitEndpointPage],
  ['GET',    '/account/webhooks/:uuid/rotate/',                  'pageSession',     'account',   'none', webhookPage.confirmRotateSecret],
  ['POST',   '/account/webhooks/:uuid/rotate/',                  'pageSession',     'account',   'form', webhookPage.rotateEndpointSecret],
  ['GET',    '/account/webhooks/:uuid/delete/',                  'pageSession',     'account',   'none', webhookPage.confirmDeleteEndpoint],
  ['POST',   '/account/webhooks/:uuid/delete/',                  'pageSession',     'account',   'form', webhookPage.deleteEndpointOfAccount],
  ['GET',    '/account/applications/:uuid/limit/',               'pageSession',     'account',   'none', applications.showLimitPage],
  ['POST',   '/account/applications/:uuid/limit/',               'pageSession',     'account',   'form', applications.saveApplicationLimit],
  ['GET',    '/account/applications/:uuid/end/',                 'pageSession',     'account',   'none', applications.confirmDisconnectApplication],
  ['POST',   '/account/applications/:uuid/end/',                 'pageSession',     'account',   'form', applications.disconnectConnectedApplication],
  ['POST',   '/account/identities/:provider/link/',              'pageSession',     'account',   'form', identities.startIdentityLink],
  ['GET',    '/account/identities/:uuid/remove/',                'pageSession',     'account',   'none', identities.confirmRemoveIdentity],
  ['POST',   '/account/identities/:uuid/remove/',                'pageSession',     'account',   'form', identities.removeLinkedIdentity],
  ['GET',    '/account/sessions/:uuid/end/',                     'pageSession',     'account',   'none', settings.confirmEndSession],
  ['POST',   '/account/sessions/:uuid/end/',                     'pageSession',     'account',   'form', settings.endOneSession],
  ['GET',    '/account/sessions/end-others/',                    'pageSession',     'account',   'none', settings.confirmEndOtherSessions],
  ['POST',   '/account/sessions/end-others/',                    'pageSession',     'account',   'form', settings.endAllOtherSessions],
  ['POST',   '/account/affiliate/',                              'pageSession',     'account',   'form', affiliatePages.becomeAffiliate],
  ['POST',   '/account/payouts/',                                'pageSession',     'payment',   'form', affiliatePages.startPayoutSetup],
  ['GET',    '/account/payouts/again',                           'pageSession',     'payment',   'none', affiliatePages.restartPayoutSetup],
  ['GET',    '/account/payouts/returned',                        'pageSession',     'payment',   'none', affiliatePages.completePayoutSetup],
  ['POST',   '/account/sign-out/',                               'pageSession',     'account',   'form', account.signOut],
  ['GET',    '/account/security/',                               'pageSession',     'account',   'none', showSecurityLogPage],
  ['GET',    '/account/notifications/',                          'pageSession',     'account',   'none', notificationPages.showNotificationsPage],
  ['POST',   '/account/notifications/',                          'pageSession',     'account',   'form', notificationPages.saveNotifications],
  ['GET',    '/account/export/',                                 'pageSession',     'account',   'none', dataExport.showExportPage],
  ['POST',   '/account/export/',                                 'pageSession',     'account',   'form', dataExport.downloadExport],
  ['GET',    '/account/delete/',                                 'pageSession',     'account',   'none', accountDeletion.showDeletionPage],
  ['POST',   '/account/delete/',                                 'pageSession',     'account',   'form', accountDeletion.requestDeletion],
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

  ['GET',    '/admin/',                                          'staffSession',    'account',   'none', admin.staffPage, 'viewDashboard'],
  ['GET',    '/admin/accounts/',                                 'staffSession',    'account',   'none', showAccountSearch, 'viewAccounts'],
  ['GET',    '/admin/accounts/:uuid/',                           'staffSession',    'account',   'none', staffAccount.showAccount, 'viewAccounts'],
  ['GET',    '/admin/accounts/:uuid/ledger/',                    'staffSession',    'account',   'none', staffAccount.showAccountLedger, 'viewAccounts'],
  ['GET',    '/admin/accounts/:uuid/generations/',               'staffSession',    'account',   'none', staffAccount.showAccountGenerations, 'viewAccounts'],
  ['GET',    '/admin/accounts/:uuid/adjust/',                    'staffSession',    'account',   'none', creditActions.adjustCredits.show, 'adjustCredits'],
  ['POST',   '/admin/accounts/:uuid/adjust/',                    'staffSession',    'account',   'form', creditActions.adjustCredits.submit, 'adjustCredits'],
  ['GET',    '/admin/accounts/:uuid/suspend/',                   'staffSession',    'account',   'none', accountActions.suspend.show, 'suspendAccounts'],
  ['POST',   '/admin/accounts/:uuid/suspend/',                   'staffSession',    'account',   'form', accountActions.suspend.submit, 'suspendAccounts'],
  ['GET',    '/admin/accounts/:uuid/reinstate/',                 'staffSession',    'account',   'none', accountActions.reinstate.show, 'suspendAccounts'],
  ['POST',   '/admin/accounts/:uuid/reinstate/',                 'staffSession',    'account',   'form', accountActions.reinstate.submit, 'suspendAccounts'],
  ['GET',    '/admin/accounts/:uuid/sign-out/',                  'staffSession',    'account',   'none', accountActions.signOut.show, 'revokeAccess'],
  ['POST',   '/admin/accounts/:uuid/sign-out/',                  'staffSession',    'account',   'form', accountActions.signOut.submit, 'revokeAccess'],
  ['GET',    '/admin/accounts/:uuid/revoke-access/',             'staffSession',    'account',   'none', accountActions.revokeAccess.show, 'revokeAccess'],
  ['POST',   '/admin/accounts/:uuid/revoke-access/',             'staffSession',    'account',   'form', accountActions.revokeAccess.submit, 'revokeAccess'],
  ['GET',    '/admin/keys/:uuid/revoke/',                        'staffSession',    'account',   'none', accountActions.revokeKey.show, 'revokeAccess'],
  ['POST',   '/admin/keys/:uuid/revoke/',                        'staffSession',    'account',   'form', accountActions.revokeKey.submit, 'revokeAccess'],
  ['GET',    '/admin/topups/:uuid/refund/',                      'staffSession',    'account',   'none', creditActions.refundTopup.show, 'refundTopups'],
  ['POST',   '/admin/topups/:uuid/refund/',                      'staffSession',    'account',   'form', creditActions.refundTopup.submit, 'refundTopups'],
  ['GET',    '/admin/generations/:uuid/',                        'staffSession',    'account',   'none', staffGeneration.showGeneration, 'viewAccounts'],
  ['GET',    '/admin/generations/:uuid/content/',                'staffSession',    'account',   'none', staffGeneration.redirectToGeneration, 'viewContent'],
  ['POST',   '/admin/generations/:uuid/content/',                'staffSession',    'account',   'form', staffGeneration.showGenerationContent, 'viewContent'],
  ['GET',    '/admin/generations/:uuid/refund/',                 'staffSession',    'account',   'none', generationActions.refund.show, 'refundGenerations'],
  ['POST',   '/admin/generations/:uuid/refund/',                 'staffSession',    'account',   'form', generationActions.refund.submit, 'refundGenerations'],
  ['GET',    '/admin/generations/:uuid/requeue/',                'staffSession',    'account',   'none', generationActions.requeue.show, 'manageQueues'],
  ['POST',   '/admin/generations/:uuid/requeue/',                'staffSession',    'account',   'form', generationActions.requeue.submit, 'manageQueues'],
  ['GET',    '/admin/audit/',                                    'staffSession',    'account',   'none', showAuditLog, 'viewAuditLog'],
  ['GET',    '/admin/reports/',                                  'staffSession',    'account',   'none', reports.showReports, 'viewReports'],
  ['GET',    '/admin/reports/failures/',                         'staffSession',    'account',   'none', reports.showFailureReport, 'viewReports'],
  ['GET',    '/admin/reports/upstreams/',                        'staffSession',    'account',   'none', reports.showUpstreamReport, 'viewReports'],
  ['GET',    '/admin/reports/margin/',                           'staffSession',    'account',   'none', reports.showMarginReport, 'viewReports'],
  ['GET',    '/admin/reports/onboarding/',                       'staffSession',    'account',   'none', reports.showOnboardingReport, 'viewReports'],
  ['GET',    '/admin/reports/churn/',                            'staffSession',    'account',   'none', reports.showChurnReport, 'viewReports'],
  ['GET',    '/admin/reports/payment-events/',                   'staffSession',    'account',   'none', reports.showPaymentEventReport, 'viewReports'],
  ['GET',    '/admin/reports/affiliates/',                       'staffSession',    'account',   'none', reports.showAffiliateReport, 'viewReports'],
  ['*',      '/admin/queues/api/*',                              'staffCall',       'account',   'raw',  queueBoard, 'manageQueues'],
  ['*',      '/admin/queues/*',                                  'staffSession',    'account',   'raw',  queueBoard, 'manageQueues'],

  ['GET',    '/authorize',                                       'optionalSession', 'oauth',     'none', showConsent],
  ['POST',   '/authorize',                                       'optionalSession', 'oauth',     'form', submitConsent],
  ['POST',   '/token',                                           'none',            'oauth',     'raw',  token],
  ['POST',   '/register',                                        'none',            'oauth',     'raw',  register],
  ['POST',   '/revoke',                                          'none',            'oauth',     'raw',  revoke],
  ['GET',    '/jwks.json',                                       'none',            'public',    'none', jwks],
  ['GET',    '/.well-known/oauth-protected-resource',            'none',            'public',    'none', protectedResource],
  ['GET',    '/.well-known/oauth-protected-resource/mcp',        'none',            'public',    'none', protectedResource],
  ['GET',    '/.well-known/oauth-authorization-server',          'none',            'public',    'none', authorizationServer],
  ['GET',    '/.well-known/oauth-authorization-server/mcp',      'none',            'public',    'none', authorizationServer],
  ['GET',    '/server.json',                                     'none',            'public',    'none', serverJson],
  ['GET',    '/llms.txt',                                        'none',            'public',    'none', llmsText],

  // Usually served by a CDN, therefore not counted.
  ['GET',    '/assets/account.js',                               'none',            'unlimited', 'none', accountScript],
  ['GET',    '/assets/style.css',                                'none',            'unlimited', 'none', stylesheet],
  ['GET',    '/media/:shard/:token/:file',                       'none',            'unlimited', 'none', media],

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
