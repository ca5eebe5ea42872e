import { actionRoutes, type HttpRoute } from '../../../pipeline/route.ts';
import * as deliveryPage from './deliveryPage.tsx';
import * as webhookPages from './handler.tsx';
import { renderWebhooksPage } from './view.tsx';
import * as webhookPage from './endpointHandler.tsx';

// biome-ignore format: aligned columns.
export const WEBHOOKS_PAGES: readonly HttpRoute[] = [
  ['GET',     '/account/webhooks/',                              'page', 'session', 'account',   'none', renderWebhooksPage, { needs: 'manageWebhooks' }],
  ['POST',    '/account/webhooks/',                              'page', 'session', 'account',   'form', webhookPages.addEndpoint, { needs: 'manageWebhooks' }],
  ['GET',     '/account/webhooks/default/',                      'page', 'session', 'account',   'none', webhookPages.showDefaultPage, { needs: 'manageWebhooks' }],
  ['POST',    '/account/webhooks/default/',                      'page', 'session', 'account',   'form', webhookPages.showDefaultSecret, { needs: 'manageWebhooks', recentSignIn: true }],
  ...actionRoutes('/account/webhooks/default/rotate/', webhookPages.rotateDefault, { needs: 'manageWebhooks', recentSignIn: true }),
  ['GET',     '/account/webhooks/:uuid/',                        'page', 'session', 'account',   'none', webhookPage.showEndpointPage, { needs: 'manageWebhooks' }],
  ['POST',    '/account/webhooks/:uuid/',                        'page', 'session', 'account',   'form', webhookPage.submitEndpointPage, { needs: 'manageWebhooks' }],
  ['GET',     '/account/webhooks/:uuid/deliveries/:delivery/',   'page', 'session', 'account',   'none', deliveryPage.showDeliveryPage, { needs: 'manageWebhooks' }],
  ['POST',    '/account/webhooks/:uuid/deliveries/:delivery/',   'page', 'session', 'account',   'form', deliveryPage.sendAgain, { needs: 'manageWebhooks' }],
  ...actionRoutes('/account/webhooks/:uuid/rotate/', webhookPage.rotateEndpointSecret, { needs: 'manageWebhooks', recentSignIn: true }),
  ...actionRoutes('/account/webhooks/:uuid/delete/', webhookPage.deleteWebhookEndpoint, { needs: 'manageWebhooks' }),
];
