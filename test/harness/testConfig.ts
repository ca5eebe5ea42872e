import { parseConfig, setConfig } from '../../shared/lib/config.ts';
import { resetServiceScope } from '../../shared/lib/serviceScope.ts';

/** Sets the configuration for tests of modules alone, without a service. Nothing connects. */
export function setTestConfig(env: Record<string, string> = {}): void {
  resetServiceScope();
  setConfig(parseConfig({ DATABASE_URL: 'postgres://user@host/name', REDIS_URL: 'redis://host:6379', ...env }));
}

/** Settings that a Stripe key requires. */
export const STRIPE_ENV = {
  STRIPE_WEBHOOK_SECRET: 'whsec_1',
  STRIPE_PRICE_LITE: 'price_1',
  STRIPE_PRICE_STARTER: 'price_2',
  STRIPE_PRICE_PRO: 'price_3',
  STRIPE_PRICE_STUDIO: 'price_4',
  STRIPE_PORTAL_CONFIGURATION: 'bpc_1',
};

/** Settings with which a process starts in production. */
export const PRODUCTION_ENV = {
  NODE_ENV: 'production',
  SECRET_KEY: '6f1d8a02c94be7350b1cf8d27ae94360',
  BASE_URL: 'https://genmeter.example',
  STRIPE_SECRET_KEY: 'sk_live_1',
  ...STRIPE_ENV,
  GITHUB_CLIENT_ID: 'id',
  GITHUB_CLIENT_SECRET: 'secret',
};
