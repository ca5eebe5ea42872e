import { expect } from 'chai';
import type { ApiResponse, RequestOptions, TestCustomer } from './apiClient.ts';
import { setAllModelsOnline } from './seeds.ts';
import { type TestService, startTestService } from './testService.ts';

export const CREATE = '/api/generations/create/';

/** Endpoints that act for a person take the session cookie, and no API key. */
const TAKES_SESSION = /^\/(?:authentication|api\/members|api\/invitations)\//;

/** A service with a customer on the Pro plan who sends invalid requests, none of which may change the account. */
export class InvalidRequests {
  readonly service: TestService;
  readonly customer: TestCustomer;

  constructor(service: TestService, customer: TestCustomer) {
    this.service = service;
    this.customer = customer;
  }

  /** Sends a request with a credential that the endpoint accepts. */
  send(method: string, path: string, options: RequestOptions = {}): Promise<ApiResponse> {
    return TAKES_SESSION.test(path)
      ? this.customer.requestWithSession(method, path, options)
      : this.customer.request(method, path, options);
  }

  create(body: unknown): Promise<ApiResponse> {
    return this.send('POST', CREATE, { body });
  }

  createRaw(rawBody: string | Uint8Array, headers: Record<string, string> = {}): Promise<ApiResponse> {
    return this.send('POST', CREATE, { rawBody, headers });
  }

  /** Fails if anything was charged, or if another API key exists. */
  async expectNoEffect(): Promise<void> {
    expect(await this.customer.ledger()).to.deep.equal([['grant', 1100]]);
    expect((await this.customer.request('GET', '/api/keys/')).body.pagination.total_items).to.equal(1);
  }
}

export async function startInvalidRequests(): Promise<InvalidRequests> {
  const service = await startTestService({ workers: 0 });
  await setAllModelsOnline(service);
  return new InvalidRequests(service, await service.createCustomer('pro'));
}
