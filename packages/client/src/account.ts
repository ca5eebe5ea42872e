import { List, type Page } from './list.ts';
import type { IdempotentRequestOptions, RequestOptions, Transport } from './transport.ts';
import type {
  ApiKey,
  Checkout,
  CreateApiKey,
  CreatedApiKey,
  CreateTopup,
  KeyUsage,
  LedgerEntry,
  LedgerFilters,
  Model,
  Plan,
  RedeemedGiftCode,
  UpdateApiKey,
  UsageSummary,
} from './types.ts';

/** Models with their prices and accepted values. Needs no key. */
export class Models {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  list(options?: RequestOptions): List<Model> {
    return listPages(this.#transport, '/api/models/', {}, options);
  }
}

/** Plans. Needs no key. */
export class Plans {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  list(options?: RequestOptions): Promise<Plan[]> {
    return this.#transport.request({ method: 'GET', path: '/api/billing/plans/', repetition: 'safe' }, options);
  }
}

/** Balance and consumption. */
export class Usage {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Plan, balance, generations in progress, and the usage of the last 30 days. */
  summary(options?: RequestOptions): Promise<UsageSummary> {
    return this.#transport.request({ method: 'GET', path: '/api/usage/summary/', repetition: 'safe' }, options);
  }

  /** Usage by API key. */
  byKey(options?: RequestOptions): List<KeyUsage> {
    return listPages(this.#transport, '/api/usage/keys/', {}, options);
  }
}

/** Ledger of the credits. */
export class Ledger {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Lists entries, newest first. */
  list(filters: LedgerFilters = {}, options?: RequestOptions): List<LedgerEntry> {
    return listPages(this.#transport, '/api/ledger/', filters, options);
  }
}

/** Payments. */
export class Billing {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Starts the purchase of credits. @returns the page on which it is paid. */
  topUp(topup: CreateTopup, options?: IdempotentRequestOptions): Promise<Checkout> {
    return this.#transport.request(
      { method: 'POST', path: '/api/billing/topup/', body: topup, repetition: 'keyed' },
      options,
    );
  }
}

/** Gift codes. */
export class GiftCodes {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Adds the credits of a code to the balance, once for each account. */
  redeem(code: string, options?: IdempotentRequestOptions): Promise<RedeemedGiftCode> {
    const path = '/api/gift-codes/redeem/';
    return this.#transport.request({ method: 'POST', path, body: { code }, repetition: 'keyed' }, options);
  }
}

/** API keys of the account. */
export class Keys {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Creates a key. The response is the only one that contains it. */
  create(key: CreateApiKey, options?: IdempotentRequestOptions): Promise<CreatedApiKey> {
    return this.#transport.request(
      { method: 'POST', path: '/api/keys/create/', body: key, repetition: 'keyed' },
      options,
    );
  }

  list(options?: RequestOptions): List<ApiKey> {
    return listPages(this.#transport, '/api/keys/', {}, options);
  }

  /** Changes the name or options of a key; null removes an option. */
  update(uuid: string, change: UpdateApiKey, options?: RequestOptions): Promise<ApiKey> {
    const path = `/api/keys/${encodeURIComponent(uuid)}/`;
    return this.#transport.request({ method: 'PATCH', path, body: change, repetition: 'safe' }, options);
  }

  /** Revokes a key, immediately and permanently. */
  revoke(uuid: string, options?: RequestOptions): Promise<{ revoked: boolean }> {
    const path = `/api/keys/${encodeURIComponent(uuid)}/revoke/`;
    return this.#transport.request({ method: 'POST', path, repetition: 'safe' }, options);
  }
}

/** A list of the service, with the query that all its pages have. */
export function listPages<Item extends { uuid: string }>(
  transport: Transport,
  path: string,
  query: object,
  options?: RequestOptions,
): List<Item> {
  return new List((page) =>
    transport.request<Page<Item>>({ method: 'GET', path, query: { ...query, page }, repetition: 'safe' }, options),
  );
}
