import { Genmeter, type GenmeterOptions } from '@genmeter/client';

/** Accounts of the suite, by what they are for. */
export type SuiteAccount =
  | 'main'
  | 'reader'
  | 'retries'
  | 'crowded'
  | 'unsubscribed'
  | 'poor'
  | 'suspended'
  | 'limited';

/** A service to which the suite applies. It is passed as JSON, because the suite runs in other programs. */
export interface SuiteSettings {
  baseUrl: string;
  /** The same service, which accepts one create per minute. */
  limitedUrl: string;
  /** {@link LossyProxy} before the service, which also records webhooks. */
  proxyUrl: string;
  /** API keys without options. */
  keys: Record<SuiteAccount, string>;
  /** A PNG of 30 x 20 pixels, in base64. */
  image: string;
}

/** Misbehavior of the proxy. The first group applies after the service has executed the request. */
export type ProxyFault =
  | 'drop'
  | 'cut'
  | 'delay'
  // Without executing it:
  | 'refuse'
  | 'busy'
  | 'unavailable'
  | 'page'
  | 'redirect';

/** Image model of the suite's catalog. */
export const IMAGE = { model: 'imgmodel-2', params: { resolution: '1K' } } as const;
export const IMAGE_CREDITS = 8;

/** Gives the cases their clients, and records which methods they call. */
export class SuiteContext {
  readonly settings: SuiteSettings;
  /** Called methods of the client, such as `generations.create`. */
  readonly called = new Set<string>();
  #count = 0;
  /** Differs between runs that use the same accounts. */
  readonly #run = Array.from(crypto.getRandomValues(new Uint8Array(4))).join('-');

  constructor(settings: SuiteSettings) {
    this.settings = settings;
  }

  /** Opens a client of an account. */
  open(account: SuiteAccount, options: Partial<GenmeterOptions> = {}): Genmeter {
    return this.openWith({ key: this.settings.keys[account], ...options });
  }

  openWith(options: Partial<GenmeterOptions>): Genmeter {
    const client = new Genmeter({ baseUrl: this.settings.baseUrl, ...options });
    for (const name of listMethods(client)) this.#record(client, name);
    return client;
  }

  /** Returns the address of the service behind a proxy that mistreats each request this many times. */
  behind(fault: ProxyFault, times: number): string {
    return `${this.settings.proxyUrl}/${fault}-${times}/${this.unique()}`;
  }

  /** A text that no other case uses. */
  unique(): string {
    this.#count += 1;
    return `case-${this.#run}-${this.#count}`;
  }

  #record(client: Genmeter, name: string): void {
    const [group, method] = name.split('.') as [keyof Genmeter, string];
    const owner = client[group] as unknown as Record<string, (...args: unknown[]) => unknown>;
    const original = owner[method]?.bind(owner);
    owner[method] = (...args) => {
      this.called.add(name);
      return original?.(...args);
    };
  }
}

/** Lists the methods of a client, such as `generations.create`. */
export function listMethods(client: Genmeter): string[] {
  return Object.entries(client).flatMap(([group, value]) =>
    Object.getOwnPropertyNames(Object.getPrototypeOf(value))
      .filter((method) => method !== 'constructor')
      .map((method) => `${group}.${method}`),
  );
}

/** A statement about the client, and its proof. */
export interface SuiteCase {
  title: string;
  run: (context: SuiteContext) => Promise<void>;
}
