import { expect } from 'chai';
import type { TestCustomer } from '../harness/apiClient.ts';
import { useTestService } from '../harness/testService.ts';

const PAGE = 'https://studio.example';
const OTHER = 'https://other.example';

const preflight = (baseUrl: string, path: string, origin: string, method: string): Promise<Response> =>
  fetch(new URL(path, baseUrl), {
    method: 'OPTIONS',
    headers: { origin, 'access-control-request-method': method, 'access-control-request-headers': 'authorization' },
  });
const getAllowedOrigin = ({ headers }: { headers: Headers }): string | null =>
  headers.get('access-control-allow-origin');

describe('calls of the REST API from pages of other origins', () => {
  const service = useTestService({ workers: 0, env: { API_ALLOWED_ORIGINS: `${PAGE}, https://two.example` } });
  let customer: TestCustomer;
  before(async () => {
    customer = await service.createCustomer('pro');
  });

  it('a page of a listed origin reads responses and errors', async () => {
    for (const path of ['/api/usage/summary/', '/api/generations/unknown/', '/api/models/', '/api/nothing/']) {
      const response = await customer.request('GET', path, { headers: { origin: PAGE } });
      expect(getAllowedOrigin(response)).to.equal(PAGE);
      expect(response.headers.get('vary')).to.match(/\bOrigin\b/);
      expect(response.headers.get('access-control-expose-headers')).to.include('Retry-After');
      expect(response.headers.get('access-control-allow-credentials')).to.equal(null);
    }
  });

  it('a page of a listed origin learns which methods an address has', async () => {
    const response = await customer.request('DELETE', '/api/models/', { headers: { origin: PAGE } });
    expect([response.status, response.headers.get('allow'), getAllowedOrigin(response)]).to.deep.equal([
      404,
      'GET',
      PAGE,
    ]);
    const unknown = await preflight(service.baseUrl, '/api/nothing/', PAGE, 'GET');
    expect([unknown.status, getAllowedOrigin(unknown)]).to.deep.equal([204, PAGE]);
  });

  it('preflight requests of a listed origin allow the methods and headers of the API', async () => {
    const response = await preflight(service.baseUrl, '/api/generations/create/', PAGE, 'POST');
    expect([response.status, getAllowedOrigin(response)]).to.deep.equal([204, PAGE]);
    expect(response.headers.get('access-control-allow-methods')).to.equal('GET, POST, PATCH, DELETE, OPTIONS');
    expect(response.headers.get('access-control-allow-headers'))
      .to.include('Authorization')
      .and.include('Idempotency-Key');
  });

  it('other origins, other paths and requests without an origin get no headers', async () => {
    const bodies = [
      await customer.request('GET', '/api/usage/summary/', { headers: { origin: OTHER } }),
      await customer.request('GET', '/api/usage/summary/'),
      await preflight(service.baseUrl, '/api/generations/create/', OTHER, 'POST'),
      await preflight(service.baseUrl, '/authentication/me/', PAGE, 'GET'),
      await preflight(service.baseUrl, '/authorize', PAGE, 'GET'),
      await preflight(service.baseUrl, '/sign-in', PAGE, 'GET'),
      await fetch(`${service.baseUrl}/account/`, { headers: { origin: PAGE }, redirect: 'manual' }),
    ];
    expect(bodies.map(getAllowedOrigin)).to.deep.equal(bodies.map(() => null));
  });

  it('pages without an origin of their own, such as sandboxed frames and files, get no headers', async () => {
    const headers = await Promise.all(
      ['null', '', 'file://', `${PAGE}.other.example`, PAGE.replace('https', 'http'), `${PAGE}:8443`].map((origin) =>
        customer.request('GET', '/api/usage/summary/', { headers: { origin } }),
      ),
    );
    expect(headers.map(getAllowedOrigin)).to.deep.equal(headers.map(() => null));
  });

  it('the description of the interface remains readable by every page', async () => {
    const response = await fetch(`${service.baseUrl}/api/openapi.json`, { headers: { origin: OTHER } });
    expect(getAllowedOrigin(response)).to.equal('*');
  });

  it('the session cookie changes nothing from a page of a listed origin', async () => {
    const headers = { cookie: customer.cookie, origin: PAGE };
    const body = { name: 'from a page' };
    const response = await service.request('POST', '/api/keys/create/', { headers, body });
    expect([response.status, response.body.error]).to.deep.equal([401, 'invalid_api_key']);
  });
});
