import type { HttpRoute } from '../../../pipeline/route.ts';
import * as unsubscribePages from './unsubscribe/handler.tsx';
import * as notificationPages from './settings/handler.tsx';

// biome-ignore format: aligned columns.
export const NOTIFICATIONS_PAGES: readonly HttpRoute[] = [
  // Links of messages. Mail programs post to those that unsubscribe by themselves.
  ['GET',     '/unsubscribe/:token',                             'page', 'anyone',  'public',    'none', unsubscribePages.confirmUnsubscribe],
  ['POST',    '/unsubscribe/:token',                             'page', 'anyone',  'public',    'none', unsubscribePages.submitUnsubscribe],
  ['GET',     '/account/notifications/',                         'page', 'session', 'account',   'none', notificationPages.renderNotificationsPage, { needs: 'manageNotifications' }],
  ['POST',    '/account/notifications/',                         'page', 'session', 'account',   'form', notificationPages.saveNotifications, { needs: 'manageNotifications' }],
];
