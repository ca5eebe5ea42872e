/** Who reaches what this process listens on. */
export interface ListenSettings {
  NODE_ENV: string;
  HOST: string;
  METRICS_PORT?: number;
  METRICS_HOST: string;
  METRICS_TOKEN?: string;
}

/** Whether a host to listen on can be reached from this machine only. */
export function isLoopbackHost(host: string): boolean {
  return /^(localhost|127(\.\d{1,3}){3}|::1)$/i.test(host);
}

/** What is wrong with the settings of the metrics, as a sentence that names a variable; or undefined. */
export function validateMetricsSettings(values: Omit<ListenSettings, 'HOST'>): string | undefined {
  const { NODE_ENV, METRICS_PORT, METRICS_HOST, METRICS_TOKEN } = values;
  if (NODE_ENV !== 'production' || METRICS_PORT === undefined || METRICS_TOKEN !== undefined) return undefined;
  if (isLoopbackHost(METRICS_HOST)) return undefined;
  return `METRICS_TOKEN is not set, but with METRICS_PORT and METRICS_HOST ${METRICS_HOST} other machines can read the metrics: with NODE_ENV=production set METRICS_TOKEN, or METRICS_HOST=127.0.0.1.`;
}

/** What somebody who has not asked for it should know of the mode that this process runs in, as a sentence; or undefined. */
export function getInsecureModeWarning({ NODE_ENV, HOST }: ListenSettings): string | undefined {
  if (NODE_ENV === 'production' || isLoopbackHost(HOST)) return undefined;
  return `NODE_ENV is ${NODE_ENV} and HOST ${HOST} is open to other machines: without a sign-in provider whoever reaches it can sign in as anybody, and without Stripe plans and credits are given away. Set NODE_ENV=production, which refuses both, or HOST=127.0.0.1.`;
}
