import type { HttpRoute } from '../../../pipeline/route.ts';
import * as deliveryPage from './deliveryPage.tsx';
import * as webhookPages from './handler.tsx';
import * as webhookPage from './endpointHandler.tsx';

// biome-ignore format: aligned columns.
export const WEBHOOKS_PAGES: readonly HttpRoute[] = [
  ['GET',     '/account/webhooks/',                              'page', 'session', 'account',   'none', webhookPages.showWebhooksPage],
  ['POST',    '/account/webhooks/',                              'page', 'session', 'account',   'form', webhookPages.addEndpoint],
  ['GET',     '/account/webhooks/default/',                      'page', 'session', 'account',   'none', webhookPages.showDefaultPage],
  ['POST',    '/account/webhooks/default/',                      'page', 'session', 'account',   'form', webhookPages.showDefaultSecret, { recentSignIn: true }],
  ['GET',     '/account/webhooks/default/rotate/',               'page', 'session', 'account',   'none', webhookPages.rotateDefault.confirm, { recentSignIn: true }],
  ['POST',    '/account/webhooks/default/rotate/',               'page', 'session', 'account',   'form', webhookPages.rotateDefault.submit, { recentSignIn: true }],
  ['GET',     '/account/webhooks/:uuid/',                        'page', 'session', 'account',   'none', webhookPage.showEndpointPage],
  ['POST',    '/account/webhooks/:uuid/',                        'page', 'session', 'account',   'form', webhookPage.submitEndpointPage],
  ['GET',     '/account/webhooks/:uuid/deliveries/:delivery/',   'page', 'session', 'account',   'none', deliveryPage.showDeliveryPage],
  ['POST',    '/account/webhooks/:uuid/deliveries/:delivery/',   'page', 'session', 'account',   'form', deliveryPage.sendAgain],
  ['GET',     '/account/webhooks/:uuid/rotate/',                 'page', 'session', 'account',   'none', webhookPage.rotateEndpointSecret.confirm, { recentSignIn: true }],
  ['POST',    '/account/webhooks/:uuid/rotate/',                 'page', 'session', 'account',   'form', webhookPage.rotateEndpointSecret.submit, { recentSignIn: true }],
  ['GET',     '/account/webhooks/:uuid/delete/',                 'page', 'session', 'account',   'none', webhookPage.deleteWebhookEndpoint.confirm],
  ['POST',    '/account/webhooks/:uuid/delete/',                 'page', 'session', 'account',   'form', webhookPage.deleteWebhookEndpoint.submit],
];
