import { expect } from 'chai';
import { createVisitor, sendAccountForm } from './accountForms.ts';
import type { TestCustomer } from './apiClient.ts';
import { findForm, type HttpBrowser, type HttpPage } from './httpBrowser.ts';
import type { TestService } from './testService.ts';

export const WEBHOOKS_PAGE = '/account/webhooks/';
export const SECRET = /whsec_[A-Za-z0-9+/]{43}=/;
export const RECEIVER_URL = 'https://hooks.example.com/genmeter?a=1&b=2';
/** Fields of an endpoint for all events. */
export const ALL_EVENTS = { url: RECEIVER_URL, description: '', all_events: 'on' };

export interface AddedEndpoint {
  customer: TestCustomer;
  visitor: HttpBrowser;
  /** The page that the form was answered with. */
  text: string;
  secret: string;
  /** The endpoint, as the API returns it. */
  endpoint: Record<string, unknown> & { uuid: string };
  /** Page of the endpoint. */
  path: string;
}

/** Uses the webhook pages of a service as a visitor does. */
export class WebhookPages {
  readonly #service: () => TestService;

  constructor(service: () => TestService) {
    this.#service = service;
  }

  at(path: string): string {
    return `${this.#service().baseUrl}${path}`;
  }

  async show(visitor: HttpBrowser, path: string): Promise<string> {
    return (await visitor.request(this.at(path))).text;
  }

  send(visitor: HttpBrowser, action: string, fields?: Record<string, string>): Promise<HttpPage> {
    return sendAccountForm(this.#service().baseUrl, visitor, action, fields);
  }

  /** Sends a delivery again, also where its page does not offer it. @param path page of its endpoint. */
  async sendAgain(visitor: HttpBrowser, path: string, delivery: string): Promise<HttpPage> {
    const { fields } = findForm(await this.show(visitor, WEBHOOKS_PAGE), '/account/sign-out/');
    return visitor.submitForm(this.at(`${path}deliveries/${delivery}/`), fields);
  }

  /** Adds an endpoint of a new customer through the form. */
  async addEndpoint(fields: Record<string, string> = ALL_EVENTS): Promise<AddedEndpoint> {
    const { customer, visitor } = await createVisitor(this.#service());
    const { status, text } = await this.send(visitor, WEBHOOKS_PAGE, fields);
    expect(status, text).to.equal(200);
    const [endpoint] = await listEndpoints(customer);
    const path = `${WEBHOOKS_PAGE}${endpoint.uuid as string}/`;
    return { customer, visitor, text, secret: SECRET.exec(text)?.[0] ?? '', endpoint, path };
  }

  /** Sends a test event through the form. @returns the uuid of its delivery. */
  async sendTest(visitor: HttpBrowser, path: string): Promise<string> {
    const sent = await this.send(visitor, path, { action: 'test' });
    expect(sent.headers.get('location')).to.equal(`${path}?done=tested`);
    const [{ uuid }] = await this.#service().sql(
      `SELECT d.uuid FROM webhook_deliveries d JOIN webhook_endpoints w ON w.id = d.endpoint_id
        WHERE w.uuid::text = $1 ORDER BY d.id DESC LIMIT 1`,
      [path.split('/').at(-2)],
    );
    return uuid;
  }
}

export const listEndpoints = async (customer: TestCustomer) =>
  (await customer.request('GET', '/api/webhooks/')).body.data;

/** Returns the title of a page without the name of the service. */
export const getTitle = (text: string) => /<title>(.*?) · genmeter<\/title>/.exec(text)?.[1];
