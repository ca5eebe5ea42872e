import { expect } from 'chai';
import { request } from '../harness/apiClient.ts';
import { sendRequestHead } from '../harness/rawRequest.ts';
import { createRestrictedKey } from '../harness/restrictedKeys.ts';
import { useTestService } from '../harness/testService.ts';

describe('a key that is revoked while bodies arrive', () => {
  const service = useTestService({ workers: 0 });
  /** A process with limits; the other one has none. */
  let limited: string;
  before(async () => {
    const env = { RATE_LIMITS: 'on', TRUSTED_PROXIES: '1', RATE_PAYMENTS_PER_MINUTE: '5', RATE_PUBLIC_PER_MINUTE: '4' };
    limited = (await service.startApi(env)).baseUrl;
  });

  it('counts each of its requests once against the address, and none against the account', async () => {
    const customer = await service.createCustomer('studio');
    const { uuid, customer: revoked } = await createRestrictedKey(service, customer, {});
    const headers = { authorization: `Bearer ${revoked.key}`, 'x-forwarded-for': '198.51.100.7' };
    const path = '/api/billing/portal/';
    const late = await Promise.all([1, 2, 3].map(() => sendRequestHead(limited, 'POST', path, headers)));
    // By then, the service has looked the key up.
    expect((await revoked.on(limited).request('GET', '/api/keys/')).status).to.equal(200);
    await customer.requestWithSession('POST', `/api/keys/${uuid}/revoke/`);
    for (const unfinished of late) unfinished.end('{}');
    for (const { reply } of late) expect(await reply).to.match(/^HTTP\/1\.1 401 /);
    const isLimited: boolean[] = [];
    for (let count = 0; count < 6; count += 1)
      isLimited.push((await customer.on(limited).request('POST', path)).status === 429);
    expect(isLimited).to.deep.equal([false, false, false, false, false, true]);
    const read = () => request(limited, 'GET', '/api/models/', { headers: { 'x-forwarded-for': '198.51.100.7' } });
    expect([(await read()).status, (await read()).status]).to.deep.equal([200, 429]);
  });
});
