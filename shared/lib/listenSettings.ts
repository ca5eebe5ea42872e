/** Settings that decide which machines can connect to this process. */
export interface ListenSettings {
  NODE_ENV: string;
  HOST: string;
  METRICS_PORT?: number;
  METRICS_HOST: string;
  METRICS_TOKEN?: string;
}

/** Returns true if a listening host accepts connections from this machine only. */
export function isLoopbackHost(host: string): boolean {
  return /^(localhost|127(\.\d{1,3}){3}|::1)$/i.test(host);
}

/** Returns the problem with the metrics settings as a sentence that names a variable, or undefined. */
export function validateMetricsSettings(values: Omit<ListenSettings, 'HOST'>): string | undefined {
  const { NODE_ENV, METRICS_PORT, METRICS_HOST, METRICS_TOKEN } = values;
  if (NODE_ENV !== 'production' || METRICS_PORT === undefined || METRICS_TOKEN !== undefined) return undefined;
  if (isLoopbackHost(METRICS_HOST)) return undefined;
  return `METRICS_TOKEN is not set, but with METRICS_PORT and METRICS_HOST ${METRICS_HOST} other machines can read the metrics: with NODE_ENV=production set METRICS_TOKEN, or METRICS_HOST=127.0.0.1.`;
}

/** Returns a warning if the process runs in an insecure mode and other machines can connect, or undefined. */
export function getInsecureModeWarning({ NODE_ENV, HOST }: ListenSettings): string | undefined {
  if (NODE_ENV === 'production' || isLoopbackHost(HOST)) return undefined;
  return `NODE_ENV is ${NODE_ENV} and HOST ${HOST} is open to other machines: without a sign-in provider everyone who can connect can sign in to any account, and without Stripe plans and credits are free. Set NODE_ENV=production, which rejects both, or HOST=127.0.0.1.`;
}
