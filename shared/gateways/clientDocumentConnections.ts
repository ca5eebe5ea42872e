import { isIP } from 'node:net';
import { Agent, type Dispatcher, EnvHttpProxyAgent } from 'undici';
import { now } from '../lib/clock.ts';
import { config } from '../lib/config.ts';
import { perService } from '../lib/serviceScope.ts';
import { isPrivateAddress, resolvePublicAddress } from '../lib/ssrfGuard.ts';
import { MINUTE_MS } from '../spec/durations.ts';
import { sendRequest } from './httpClient.ts';

/** Timeout of a connection to a host, or to the proxy. */
export const CLIENT_DOCUMENT_TIMEOUT_MS = 5_000;

/** Document of the most used client, and a host of another. */
const PROBED_DOCUMENT = 'https://claude.ai/oauth/claude-code-client-metadata';
const PROBED_HOST = 'https://chatgpt.com/';
/**
 * Status with which the host of the document answers data centres that it does not serve: no client of it could
 * connect.
 */
const BLOCKED_STATUS = 403;
const PROBE_TIMEOUT_MS = 2_000;
/** Time for which the result of a probe is used. */
const PROBE_LIFETIME_MS = { available: 5 * MINUTE_MS, unavailable: 30_000 } as const;

interface Probe {
  result: Promise<boolean>;
  /** Time after which another probe is made. Infinite while the probe runs. */
  expiresAt: number;
}

const state = perService(
  () => ({
    /**
     * Connects to public addresses only, or through HTTPS_PROXY. The proxy resolves the name itself, so its own rules
     * decide which addresses can be reached. Every option is set, because the library reads the environment otherwise.
     */
    publicAgent: new EnvHttpProxyAgent({
      connections: 4,
      connect: { lookup: resolvePublicAddress, timeout: CLIENT_DOCUMENT_TIMEOUT_MS },
      proxyTls: { timeout: CLIENT_DOCUMENT_TIMEOUT_MS },
      httpProxy: '',
      httpsProxy: config.HTTPS_PROXY ?? '',
      noProxy: config.NO_PROXY,
    }),
    trustedAgent: new Agent({ connections: 4 }),
    probe: undefined as Probe | undefined,
  }),
  ({ publicAgent, trustedAgent }) => Promise.all([publicAgent.destroy(), trustedAgent.destroy()]),
);

/** Names that only a proxy could resolve, and only to its own network (RFC 6761, RFC 6762, RFC 8375, ICANN). */
const LOCAL_NAME = /^[^.]*\.?$|(^|\.)(localhost|local|internal|home\.arpa|lan|intranet|corp|home)\.?$/i;

/** Returns whether a host is certainly not public: a private IP address, or a name of a local network. */
export function isLocalHost(hostname: string): boolean {
  const address = hostname.replace(/^\[|\]$/g, '');
  return isIP(address) === 0 ? LOCAL_NAME.test(hostname) : isPrivateAddress(address);
}

/** Returns the connections for a document, whose host was checked by {@link isLocalHost} unless it is trusted. */
export function selectClientDocumentAgent(isTrusted: boolean): Dispatcher {
  return isTrusted ? state().trustedAgent : state().publicAgent;
}

/**
 * Returns whether documents can be fetched, by a request for that of a known client. Concurrent callers share one
 * probe, whose result is used for 5 minutes, or for 30 seconds if it failed.
 */
export async function areClientDocumentsAvailable(): Promise<boolean> {
  const shared = state();
  const current = shared.probe;
  if (current !== undefined && now().getTime() < current.expiresAt) return current.result;
  const probe: Probe = { result: probeClientDocuments(shared.publicAgent), expiresAt: Number.POSITIVE_INFINITY };
  shared.probe = probe;
  const isAvailable = await probe.result;
  probe.expiresAt = now().getTime() + PROBE_LIFETIME_MS[isAvailable ? 'available' : 'unavailable'];
  return isAvailable;
}

async function probeClientDocuments(dispatcher: Dispatcher): Promise<boolean> {
  const signal = AbortSignal.timeout(PROBE_TIMEOUT_MS);
  const [document, host] = await Promise.allSettled(
    [PROBED_DOCUMENT, PROBED_HOST].map(async (address) => {
      const { body, statusCode } = await sendRequest(address, { method: 'GET', dispatcher, signal });
      await body.dump();
      return statusCode;
    }),
  );
  // A failed connection, an untrusted certificate and a proxy that refuses all throw.
  return document?.status === 'fulfilled' ? document.value !== BLOCKED_STATUS : host?.status === 'fulfilled';
}
