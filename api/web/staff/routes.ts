import { staffPage } from '../../rest/admin/routes.ts';
import type { StaffRoute } from '../../pipeline/route.ts';
import * as staffAccount from './account/handler.tsx';
import { showAccountSearch } from './accountSearch.tsx';
import * as accountActions from './actions/accountActions.tsx';
import * as creditActions from './actions/creditActions.tsx';
import * as generationActions from './actions/generationActions.tsx';
import { showAuditLog } from './audit.tsx';
import * as staffGeneration from './generation.tsx';
import { queueBoard } from './queueBoard.ts';
import * as reports from './reports/handler.ts';

/** Pages and scripts of the staff console, each with the permission that it requires. */
// biome-ignore format: aligned columns.
export const STAFF_ROUTES: readonly StaffRoute[] = [
  ['GET',    '/admin/',                                          'staffSession',    'account',   'none', staffPage, 'viewDashboard'],
  ['GET',    '/admin/accounts/',                                 'staffSession',    'account',   'none', showAccountSearch, 'viewAccounts'],
  ['GET',    '/admin/accounts/:uuid/',                           'staffSession',    'account',   'none', staffAccount.showAccount, 'viewAccounts'],
  ['GET',    '/admin/accounts/:uuid/ledger/',                    'staffSession',    'account',   'none', staffAccount.showAccountLedger, 'viewAccounts'],
  ['GET',    '/admin/accounts/:uuid/generations/',               'staffSession',    'account',   'none', staffAccount.showAccountGenerations, 'viewAccounts'],
  ['GET',    '/admin/accounts/:uuid/adjust/',                    'staffSession',    'account',   'none', creditActions.adjustCredits.show, 'adjustCredits'],
  ['POST',   '/admin/accounts/:uuid/adjust/',                    'staffSession',    'account',   'form', creditActions.adjustCredits.submit, 'adjustCredits'],
  ['GET',    '/admin/approvals/:uuid/approve/',                  'staffSession',    'account',   'none', creditActions.approveAdjustment.show, 'adjustCredits'],
  ['POST',   '/admin/approvals/:uuid/approve/',                  'staffSession',    'account',   'form', creditActions.approveAdjustment.submit, 'adjustCredits'],
  ['GET',    '/admin/approvals/:uuid/reject/',                   'staffSession',    'account',   'none', creditActions.rejectAdjustment.show, 'adjustCredits'],
  ['POST',   '/admin/approvals/:uuid/reject/',                   'staffSession',    'account',   'form', creditActions.rejectAdjustment.submit, 'adjustCredits'],
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
];
