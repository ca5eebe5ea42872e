import type { Feature } from './feature.ts';
import type { Endpoint } from '../pipeline/endpoint.ts';
import { ACCOUNT_PAGES } from './account/pages/routes.ts';
import { AFFILIATE } from './affiliate/endpoints.ts';
import { AFFILIATE_PAGES } from './affiliate/pages/routes.ts';
import { API_KEYS } from './apiKeys/endpoints.ts';
import { API_KEYS_PAGES } from './apiKeys/pages/routes.ts';
import { APPLICATIONS_PAGES } from './applications/pages/routes.ts';
import { BILLING } from './billing/endpoints.ts';
import { BILLING_NOTICES } from './billing/pages/notices.tsx';
import { BILLING_PAGES } from './billing/pages/routes.ts';
import { FRONT_PAGES } from './front/pages/routes.ts';
import { GUIDE_PAGES } from './guides/pages/routes.ts';
import { GENERATIONS } from './generations/endpoints.ts';
import { GENERATIONS_PAGES } from './generations/pages/routes.ts';
import { GIFT_CODES } from './giftCodes/endpoints.ts';
import { GIFT_CODE_PAGES } from './giftCodes/pages.tsx';
import { SERVICE } from './health/endpoints.ts';
import { MEMBERS } from './members/endpoints.ts';
import { MEMBERS_PAGES } from './members/pages/routes.ts';
import { MODELS } from './models/endpoints.ts';
import { NOTIFICATIONS } from './notifications/endpoints.ts';
import { NOTIFICATIONS_PAGES } from './notifications/pages/routes.ts';
import { PRIVACY_PAGES } from './privacy/pages/routes.ts';
import { LOCAL_SESSION, SESSION } from './signIn/endpoints.ts';
import { LOCAL_SIGN_IN_PAGES, SIGN_IN_PAGES } from './signIn/pages/routes.ts';
import { ADMIN } from './staff/endpoints.ts';
import { STAFF_PAGES } from './staff/pages/routes.ts';
import { t as shared } from '../web/texts.ts';
import { t } from './texts.ts';
import { UPLOADS } from './uploads/endpoints.ts';
import { USAGE } from './usage/endpoints.ts';
import { USAGE_PAGES } from './usage/pages/routes.ts';
import { WEBHOOKS } from './webhooks/endpoints.ts';
import { findFailingEndpoint } from './webhooks/pages/notices.tsx';
import { WEBHOOKS_PAGES } from './webhooks/pages/routes.ts';

/** All features, in the order of their tags in the OpenAPI document. */
export const FEATURES: readonly Feature[] = [
  {
    ...GENERATIONS,
    pages: GENERATIONS_PAGES,
    navigation: [{ path: '/account/library/', needs: 'viewGenerations', label: t.library, icon: 'images', order: 20 }],
  },
  UPLOADS,
  MODELS,
  {
    ...API_KEYS,
    pages: API_KEYS_PAGES,
    navigation: [
      { path: '/account/keys/', needs: 'manageKeys', label: t.apiKeys, icon: 'key', group: t.developers, order: 60 },
    ],
  },
  {
    ...USAGE,
    pages: USAGE_PAGES,
    navigation: [
      { path: '/account/usage/', needs: 'viewUsage', label: t.usage, icon: 'chart', order: 30 },
      { path: '/account/ledger/', needs: 'viewUsage', label: t.creditHistory, icon: 'history', order: 40 },
    ],
  },
  {
    ...WEBHOOKS,
    pages: WEBHOOKS_PAGES,
    notices: [{ needs: 'manageWebhooks', find: findFailingEndpoint }],
    navigation: [
      {
        path: '/account/webhooks/',
        needs: 'manageWebhooks',
        label: t.webhooks,
        icon: 'webhook',
        group: t.developers,
        order: 70,
      },
    ],
  },
  {
    ...BILLING,
    pages: BILLING_PAGES,
    notices: BILLING_NOTICES,
    navigation: [{ path: '/account/billing/', needs: 'manageBilling', label: t.billing, icon: 'card', order: 50 }],
  },
  {
    ...GIFT_CODES,
    pages: GIFT_CODE_PAGES,
    navigation: [
      { path: '/admin/gift-codes/', label: 'Gift codes', icon: 'gift', order: 25, permission: 'adjustCredits' },
    ],
  },
  {
    ...MEMBERS,
    pages: MEMBERS_PAGES,
    navigation: [
      {
        path: '/account/members/',
        needs: 'viewMembers',
        label: t.members,
        icon: 'users',
        group: shared.account,
        order: 90,
      },
    ],
  },
  { ...NOTIFICATIONS, pages: NOTIFICATIONS_PAGES },
  {
    ...AFFILIATE,
    pages: AFFILIATE_PAGES,
    navigation: [
      {
        path: '/account/affiliate/',
        needs: 'manageAffiliate',
        label: t.affiliate,
        icon: 'handshake',
        group: shared.account,
        order: 100,
      },
    ],
  },
  {
    ...ADMIN,
    pages: STAFF_PAGES,
    navigation: [
      { path: '/admin/', label: 'Dashboard', icon: 'dashboard', order: 10, permission: 'viewDashboard' },
      { path: '/admin/incident/', label: 'Incident', icon: 'incident', order: 15, permission: 'viewDashboard' },
      { path: '/admin/accounts/', label: 'Accounts', icon: 'users', order: 20, permission: 'viewAccounts' },
      { path: '/admin/reports/', label: 'Reports', icon: 'report', order: 30, permission: 'viewReports' },
      { path: '/admin/queues', label: 'Queues', icon: 'queue', order: 40, permission: 'manageQueues' },
      { path: '/admin/upstreams/', label: 'Upstreams', icon: 'server', order: 33, permission: 'viewDashboard' },
      { path: '/admin/tasks/', label: 'Tasks', icon: 'task', order: 35, permission: 'viewAccounts' },
      { path: '/admin/audit/', label: 'Audit log', icon: 'log', order: 50, permission: 'viewAuditLog' },
      { path: '/admin/design/', label: 'Design', icon: 'design', order: 60, permission: 'viewDashboard' },
    ],
  },
  SERVICE,
  {
    ...SESSION,
    pages: SIGN_IN_PAGES,
    navigation: [
      {
        path: '/account/settings/',
        needs: 'actForOneself',
        label: t.settings,
        icon: 'settings',
        group: shared.account,
        order: 110,
      },
    ],
  },
  {
    pages: ACCOUNT_PAGES,
    navigation: [{ path: '/account/', needs: 'viewUsage', label: t.overview, icon: 'house', order: 10 }],
  },
  {
    pages: APPLICATIONS_PAGES,
    navigation: [
      {
        path: '/account/applications/',
        needs: 'manageKeys',
        label: t.applications,
        icon: 'apps',
        group: t.developers,
        order: 80,
      },
    ],
  },
  { pages: PRIVACY_PAGES },
  { pages: FRONT_PAGES },
  { pages: GUIDE_PAGES },
];

/** The sign-in without a provider, offered in local development only. */
export const LOCAL_SIGN_IN: Feature = { ...LOCAL_SESSION, pages: LOCAL_SIGN_IN_PAGES };

const ENDPOINTS = new Map<string, { tag: string; endpoint: Endpoint }>(
  [...FEATURES, LOCAL_SIGN_IN].flatMap(({ tag, endpoints = [] }) =>
    endpoints.map((endpoint) => [endpoint.route, { tag: tag?.name ?? '', endpoint }] as const),
  ),
);

/** Finds an endpoint by its method and path. */
export function findEndpoint(route: string): { tag: string; endpoint: Endpoint } | undefined {
  return ENDPOINTS.get(route);
}
