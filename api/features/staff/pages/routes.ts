import { REPORTS } from '../../../../shared/domain/reports/index.ts';
import { actionRoutes, type HttpRoute } from '../../../pipeline/route.ts';
import * as staffAccount from './account/handler.tsx';
import { showAccountSearch } from './accountSearch.tsx';
import { showAccountTimeline } from './account/timeline.tsx';
import * as accountActions from './actions/accountActions.tsx';
import * as creditActions from './actions/creditActions.tsx';
import * as generationActions from './actions/generationActions.tsx';
import * as taskActions from './actions/taskActions.tsx';
import { showAuditLog } from './audit.tsx';
import * as staffGeneration from './generation.tsx';
import { showDesign } from './design/handler.tsx';
import { showIncident } from './incident/view.tsx';
import { queueBoard } from './queueBoard.ts';
import { showReport } from './reports/handler.ts';
import { REPORTS_PATH } from './reports/navigation.tsx';
import { sendReportListPage } from './reports/view.tsx';
import { showRunbook, showRunbooks } from './runbook.tsx';
import { showTasks } from './tasks/handler.tsx';
import { renderUpstreams, sendTrial } from './upstreams/handler.tsx';
import { showTrial } from './upstreams/trials.tsx';
import { showDashboard } from './view.tsx';

/** Pages and scripts of the staff console, each with the permission that it requires. */
// biome-ignore format: aligned columns.
export const STAFF_PAGES: readonly HttpRoute[] = [
  ['GET',     '/admin/',                                         'page', 'session', 'account',   'none', showDashboard, { permission: 'viewDashboard' }],
  ['GET',     '/admin/incident/',                                'page', 'session', 'account',   'none', showIncident, { permission: 'viewDashboard' }],
  ['GET',     '/admin/runbooks/',                                'page', 'session', 'account',   'none', showRunbooks, { permission: 'viewDashboard' }],
  ['GET',     '/admin/runbooks/:alert/',                         'page', 'session', 'account',   'none', showRunbook, { permission: 'viewDashboard' }],
  ['GET',     '/admin/design/',                                  'page', 'session', 'account',   'none', showDesign, { permission: 'viewDashboard' }],
  ['GET',     '/admin/accounts/',                                'page', 'session', 'account',   'none', showAccountSearch, { permission: 'viewAccounts' }],
  ['GET',     '/admin/accounts/:uuid/',                          'page', 'session', 'account',   'none', staffAccount.showAccount, { permission: 'viewAccounts' }],
  ['GET',     '/admin/accounts/:uuid/ledger/',                   'page', 'session', 'account',   'none', staffAccount.showAccountLedger, { permission: 'viewAccounts' }],
  ['GET',     '/admin/accounts/:uuid/generations/',              'page', 'session', 'account',   'none', staffAccount.showAccountGenerations, { permission: 'viewAccounts' }],
  ['GET',     '/admin/accounts/:uuid/timeline/',                 'page', 'session', 'account',   'none', showAccountTimeline, { permission: 'viewAccounts' }],
  ...actionRoutes('/admin/accounts/:uuid/adjust/', creditActions.adjustCredits, { permission: 'adjustCredits' }),
  ...actionRoutes('/admin/approvals/:uuid/approve/', creditActions.approveAdjustment, { permission: 'adjustCredits' }),
  ...actionRoutes('/admin/approvals/:uuid/reject/', creditActions.rejectAdjustment, { permission: 'adjustCredits' }),
  ...actionRoutes('/admin/accounts/:uuid/suspend/', accountActions.suspend, { permission: 'suspendAccounts' }),
  ...actionRoutes('/admin/accounts/:uuid/reinstate/', accountActions.reinstate, { permission: 'suspendAccounts' }),
  ...actionRoutes('/admin/accounts/:uuid/sign-out/', accountActions.signOut, { permission: 'revokeAccess' }),
  ...actionRoutes('/admin/accounts/:uuid/revoke-access/', accountActions.revokeAccess, { permission: 'revokeAccess' }),
  ...actionRoutes('/admin/members/:uuid/remove/', accountActions.removeMember, { permission: 'revokeAccess' }),
  ...actionRoutes('/admin/keys/:uuid/revoke/', accountActions.revokeKey, { permission: 'revokeAccess' }),
  ...actionRoutes('/admin/topups/:uuid/refund/', creditActions.refundTopup, { permission: 'refundTopups' }),
  ...actionRoutes('/admin/refunds/:key/close/', creditActions.closeRefund, { permission: 'refundTopups' }),
  ['GET',     '/admin/generations/:uuid/',                       'page', 'session', 'account',   'none', staffGeneration.renderGeneration, { permission: 'viewAccounts' }],
  ['GET',     '/admin/generations/:uuid/content/',               'page', 'session', 'account',   'none', staffGeneration.redirectToGeneration, { permission: 'viewContent' }],
  ['POST',    '/admin/generations/:uuid/content/',               'page', 'session', 'account',   'form', staffGeneration.showGenerationContent, { permission: 'viewContent' }],
  ...actionRoutes('/admin/generations/:uuid/refund/', generationActions.refund, { permission: 'refundGenerations' }),
  ...actionRoutes('/admin/generations/:uuid/requeue/', generationActions.requeue, { permission: 'manageQueues' }),
  ['GET',     '/admin/tasks/',                                   'page', 'session', 'account',   'none', showTasks, { permission: 'viewAccounts' }],
  ...actionRoutes('/admin/tasks/:id/run/', taskActions.runTask, { permission: 'manageQueues' }),
  ...actionRoutes('/admin/tasks/kinds/:kind/run/', taskActions.runTasks, { permission: 'manageQueues' }),
  ['GET',     '/admin/upstreams/',                               'page', 'session', 'account',   'none', renderUpstreams, { permission: 'viewDashboard' }],
  ['POST',    '/admin/upstreams/',                               'page', 'session', 'account',   'form', sendTrial, { permission: 'tryUpstreams' }],
  ['GET',     '/admin/upstreams/trials/:uuid/',                  'page', 'session', 'account',   'none', showTrial, { permission: 'tryUpstreams' }],
  ['GET',     '/admin/audit/',                                   'page', 'session', 'account',   'none', showAuditLog, { permission: 'viewAuditLog' }],
  ['GET',     '/admin/reports/',                                 'page', 'session', 'account',   'none', sendReportListPage, { permission: 'viewReports' }],
  ...REPORTS.map(
    (report): HttpRoute =>
      ['GET', `${REPORTS_PATH}${report.slug}/`,                      'page', 'session', 'account',   'none', (ctx) => showReport(ctx, report), { permission: 'viewReports' }],
  ),
  ['*',       '/admin/queues/api/*',                             'json', 'session', 'account',   'json', queueBoard, { permission: 'manageQueues' }],
  ['*',       '/admin/queues/*',                                 'page', 'session', 'account',   'raw',  queueBoard, { permission: 'manageQueues' }],
];
