import type { HttpRoute } from '../../../pipeline/route.ts';
import * as deliveryPage from './deliveryPage.tsx';
import * as webhookPages from './handler.tsx';
import * as webhookPage from './endpointHandler.tsx';

// biome-ignore format: aligned columns.
export const WEBHOOKS_PAGES: readonly HttpRoute[] = [
  ['GET',     '/account/webhooks/',                              'page', 'session', 'account',   'none', webhookPages.showWebhooksPage, { needs: 'manageWebhooks' }],
  ['POST',    '/account/webhooks/',                              'page', 'session', 'account',   'form', webhookPages.addEndpoint, { needs: 'manageWebhooks' }],
  ['GET',     '/account/webhooks/default/',                      'page', 'session', 'account',   'none', webhookPages.showDefaultPage, { needs: 'manageWebhooks' }],
  ['POST',    '/account/webhooks/default/',                      'page', 'session', 'account',   'form', webhookPages.showDefaultSecret, { needs: 'manageWebhooks', recentSignIn: true }],
  ['GET',     '/account/webhooks/default/rotate/',               'page', 'session', 'account',   'none', webhookPages.rotateDefault.confirm, { needs: 'manageWebhooks', recentSignIn: true }],
  ['POST',    '/account/webhooks/default/rotate/',               'page', 'session', 'account',   'form', webhookPages.rotateDefault.submit, { needs: 'manageWebhooks', recentSignIn: true }],
  ['GET',     '/account/webhooks/:uuid/',                        'page', 'session', 'account',   'none', webhookPage.showEndpointPage, { needs: 'manageWebhooks' }],
  ['POST',    '/account/webhooks/:uuid/',                        'page', 'session', 'account',   'form', webhookPage.submitEndpointPage, { needs: 'manageWebhooks' }],
  ['GET',     '/account/webhooks/:uuid/deliveries/:delivery/',   'page', 'session', 'account',   'none', deliveryPage.showDeliveryPage, { needs: 'manageWebhooks' }],
  ['POST',    '/account/webhooks/:uuid/deliveries/:delivery/',   'page', 'session', 'account',   'form', deliveryPage.sendAgain, { needs: 'manageWebhooks' }],
  ['GET',     '/account/webhooks/:uuid/rotate/',                 'page', 'session', 'account',   'none', webhookPage.rotateEndpointSecret.confirm, { needs: 'manageWebhooks', recentSignIn: true }],
  ['POST',    '/account/webhooks/:uuid/rotate/',                 'page', 'session', 'account',   'form', webhookPage.rotateEndpointSecret.submit, { needs: 'manageWebhooks', recentSignIn: true }],
  ['GET',     '/account/webhooks/:uuid/delete/',                 'page', 'session', 'account',   'none', webhookPage.deleteWebhookEndpoint.confirm, { needs: 'manageWebhooks' }],
  ['POST',    '/account/webhooks/:uuid/delete/',                 'page', 'session', 'account',   'form', webhookPage.deleteWebhookEndpoint.submit, { needs: 'manageWebhooks' }],
];
