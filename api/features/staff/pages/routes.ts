import type { HttpRoute } from '../../../pipeline/route.ts';
import * as staffAccount from './account/handler.tsx';
import { showAccountSearch } from './accountSearch.tsx';
import { showAccountTimeline } from './account/timeline.tsx';
import * as accountActions from './actions/accountActions.tsx';
import * as creditActions from './actions/creditActions.tsx';
import * as generationActions from './actions/generationActions.tsx';
import * as taskActions from './actions/taskActions.tsx';
import { showAuditLog } from './audit.tsx';
import { staffPage } from './dashboard.ts';
import * as staffGeneration from './generation.tsx';
import { showDesign } from './design/handler.tsx';
import { showIncident } from './incident/handler.ts';
import { queueBoard } from './queueBoard.ts';
import * as reports from './reports/handler.ts';
import { showRunbook, showRunbooks } from './runbook.tsx';
import { showTasks } from './tasks/handler.tsx';
import { sendTrial, showUpstreams } from './upstreams/handler.tsx';
import { showTrial } from './upstreams/trials.tsx';

/** Pages and scripts of the staff console, each with the permission that it requires. */
// biome-ignore format: aligned columns.
export const STAFF_PAGES: readonly HttpRoute[] = [
  ['GET',     '/admin/',                                         'page', 'session', 'account',   'none', staffPage, { permission: 'viewDashboard' }],
  ['GET',     '/admin/incident/',                                'page', 'session', 'account',   'none', showIncident, { permission: 'viewDashboard' }],
  ['GET',     '/admin/runbooks/',                                'page', 'session', 'account',   'none', showRunbooks, { permission: 'viewDashboard' }],
  ['GET',     '/admin/runbooks/:alert/',                         'page', 'session', 'account',   'none', showRunbook, { permission: 'viewDashboard' }],
  ['GET',     '/admin/design/',                                  'page', 'session', 'account',   'none', showDesign, { permission: 'viewDashboard' }],
  ['GET',     '/admin/accounts/',                                'page', 'session', 'account',   'none', showAccountSearch, { permission: 'viewAccounts' }],
  ['GET',     '/admin/accounts/:uuid/',                          'page', 'session', 'account',   'none', staffAccount.showAccount, { permission: 'viewAccounts' }],
  ['GET',     '/admin/accounts/:uuid/ledger/',                   'page', 'session', 'account',   'none', staffAccount.showAccountLedger, { permission: 'viewAccounts' }],
  ['GET',     '/admin/accounts/:uuid/generations/',              'page', 'session', 'account',   'none', staffAccount.showAccountGenerations, { permission: 'viewAccounts' }],
  ['GET',     '/admin/accounts/:uuid/timeline/',                 'page', 'session', 'account',   'none', showAccountTimeline, { permission: 'viewAccounts' }],
  ['GET',     '/admin/accounts/:uuid/adjust/',                   'page', 'session', 'account',   'none', creditActions.adjustCredits.show, { permission: 'adjustCredits' }],
  ['POST',    '/admin/accounts/:uuid/adjust/',                   'page', 'session', 'account',   'form', creditActions.adjustCredits.submit, { permission: 'adjustCredits' }],
  ['GET',     '/admin/approvals/:uuid/approve/',                 'page', 'session', 'account',   'none', creditActions.approveAdjustment.show, { permission: 'adjustCredits' }],
  ['POST',    '/admin/approvals/:uuid/approve/',                 'page', 'session', 'account',   'form', creditActions.approveAdjustment.submit, { permission: 'adjustCredits' }],
  ['GET',     '/admin/approvals/:uuid/reject/',                  'page', 'session', 'account',   'none', creditActions.rejectAdjustment.show, { permission: 'adjustCredits' }],
  ['POST',    '/admin/approvals/:uuid/reject/',                  'page', 'session', 'account',   'form', creditActions.rejectAdjustment.submit, { permission: 'adjustCredits' }],
  ['GET',     '/admin/accounts/:uuid/suspend/',                  'page', 'session', 'account',   'none', accountActions.suspend.show, { permission: 'suspendAccounts' }],
  ['POST',    '/admin/accounts/:uuid/suspend/',                  'page', 'session', 'account',   'form', accountActions.suspend.submit, { permission: 'suspendAccounts' }],
  ['GET',     '/admin/accounts/:uuid/reinstate/',                'page', 'session', 'account',   'none', accountActions.reinstate.show, { permission: 'suspendAccounts' }],
  ['POST',    '/admin/accounts/:uuid/reinstate/',                'page', 'session', 'account',   'form', accountActions.reinstate.submit, { permission: 'suspendAccounts' }],
  ['GET',     '/admin/accounts/:uuid/sign-out/',                 'page', 'session', 'account',   'none', accountActions.signOut.show, { permission: 'revokeAccess' }],
  ['POST',    '/admin/accounts/:uuid/sign-out/',                 'page', 'session', 'account',   'form', accountActions.signOut.submit, { permission: 'revokeAccess' }],
  ['GET',     '/admin/accounts/:uuid/revoke-access/',            'page', 'session', 'account',   'none', accountActions.revokeAccess.show, { permission: 'revokeAccess' }],
  ['POST',    '/admin/accounts/:uuid/revoke-access/',            'page', 'session', 'account',   'form', accountActions.revokeAccess.submit, { permission: 'revokeAccess' }],
  ['GET',     '/admin/members/:uuid/remove/',                    'page', 'session', 'account',   'none', accountActions.removeMember.show, { permission: 'revokeAccess' }],
  ['POST',    '/admin/members/:uuid/remove/',                    'page', 'session', 'account',   'form', accountActions.removeMember.submit, { permission: 'revokeAccess' }],
  ['GET',     '/admin/keys/:uuid/revoke/',                       'page', 'session', 'account',   'none', accountActions.revokeKey.show, { permission: 'revokeAccess' }],
  ['POST',    '/admin/keys/:uuid/revoke/',                       'page', 'session', 'account',   'form', accountActions.revokeKey.submit, { permission: 'revokeAccess' }],
  ['GET',     '/admin/topups/:uuid/refund/',                     'page', 'session', 'account',   'none', creditActions.refundTopup.show, { permission: 'refundTopups' }],
  ['POST',    '/admin/topups/:uuid/refund/',                     'page', 'session', 'account',   'form', creditActions.refundTopup.submit, { permission: 'refundTopups' }],
  ['GET',     '/admin/generations/:uuid/',                       'page', 'session', 'account',   'none', staffGeneration.showGeneration, { permission: 'viewAccounts' }],
  ['GET',     '/admin/generations/:uuid/content/',               'page', 'session', 'account',   'none', staffGeneration.redirectToGeneration, { permission: 'viewContent' }],
  ['POST',    '/admin/generations/:uuid/content/',               'page', 'session', 'account',   'form', staffGeneration.showGenerationContent, { permission: 'viewContent' }],
  ['GET',     '/admin/generations/:uuid/refund/',                'page', 'session', 'account',   'none', generationActions.refund.show, { permission: 'refundGenerations' }],
  ['POST',    '/admin/generations/:uuid/refund/',                'page', 'session', 'account',   'form', generationActions.refund.submit, { permission: 'refundGenerations' }],
  ['GET',     '/admin/generations/:uuid/requeue/',               'page', 'session', 'account',   'none', generationActions.requeue.show, { permission: 'manageQueues' }],
  ['POST',    '/admin/generations/:uuid/requeue/',               'page', 'session', 'account',   'form', generationActions.requeue.submit, { permission: 'manageQueues' }],
  ['GET',     '/admin/tasks/',                                   'page', 'session', 'account',   'none', showTasks, { permission: 'viewAccounts' }],
  ['GET',     '/admin/tasks/:id/run/',                           'page', 'session', 'account',   'none', taskActions.runTask.show, { permission: 'manageQueues' }],
  ['POST',    '/admin/tasks/:id/run/',                           'page', 'session', 'account',   'form', taskActions.runTask.submit, { permission: 'manageQueues' }],
  ['GET',     '/admin/tasks/kinds/:kind/run/',                   'page', 'session', 'account',   'none', taskActions.runTasks.show, { permission: 'manageQueues' }],
  ['POST',    '/admin/tasks/kinds/:kind/run/',                   'page', 'session', 'account',   'form', taskActions.runTasks.submit, { permission: 'manageQueues' }],
  ['GET',     '/admin/upstreams/',                               'page', 'session', 'account',   'none', showUpstreams, { permission: 'viewDashboard' }],
  ['POST',    '/admin/upstreams/',                               'page', 'session', 'account',   'form', sendTrial, { permission: 'tryUpstreams' }],
  ['GET',     '/admin/upstreams/trials/:uuid/',                  'page', 'session', 'account',   'none', showTrial, { permission: 'tryUpstreams' }],
  ['GET',     '/admin/audit/',                                   'page', 'session', 'account',   'none', showAuditLog, { permission: 'viewAuditLog' }],
  ['GET',     '/admin/reports/',                                 'page', 'session', 'account',   'none', reports.showReports, { permission: 'viewReports' }],
  ['GET',     '/admin/reports/failures/',                        'page', 'session', 'account',   'none', reports.showFailureReport, { permission: 'viewReports' }],
  ['GET',     '/admin/reports/upstreams/',                       'page', 'session', 'account',   'none', reports.showUpstreamReport, { permission: 'viewReports' }],
  ['GET',     '/admin/reports/margin/',                          'page', 'session', 'account',   'none', reports.showMarginReport, { permission: 'viewReports' }],
  ['GET',     '/admin/reports/onboarding/',                      'page', 'session', 'account',   'none', reports.showOnboardingReport, { permission: 'viewReports' }],
  ['GET',     '/admin/reports/churn/',                           'page', 'session', 'account',   'none', reports.showChurnReport, { permission: 'viewReports' }],
  ['GET',     '/admin/reports/payment-events/',                  'page', 'session', 'account',   'none', reports.showPaymentEventReport, { permission: 'viewReports' }],
  ['GET',     '/admin/reports/affiliates/',                      'page', 'session', 'account',   'none', reports.showAffiliateReport, { permission: 'viewReports' }],
  ['*',       '/admin/queues/api/*',                             'json', 'session', 'account',   'json', queueBoard, { permission: 'manageQueues' }],
  ['*',       '/admin/queues/*',                                 'page', 'session', 'account',   'raw',  queueBoard, { permission: 'manageQueues' }],
];
