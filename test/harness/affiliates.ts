import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { type ApiResponse, TestCustomer, request } from './apiClient.ts';

/** Opens a referral link and returns the cookie that it sets, if any. */
export async function followReferralLink(baseUrl: string, code: string, cookie?: string): Promise<string | undefined> {
  const response = await request(baseUrl, 'GET', `/r/${code}`, cookie === undefined ? {} : { headers: { cookie } });
  expect(response.status, code).to.equal(303);
  return getCookie(response, 'referral');
}

export function getCookie({ headers }: ApiResponse, name: string): string | undefined {
  const lines = headers.getSetCookie().map((line) => line.split(';')[0] as string);
  return lines.find((line) => line.startsWith(`${name}=`));
}

/** Signs in a new or existing account with these cookies. */
export async function signUpCustomer(
  baseUrl: string,
  cookie?: string,
  email = `${randomUUID()}@example.com`,
): Promise<TestCustomer> {
  const response = await request(baseUrl, 'POST', '/authentication/dev/sign-in/', {
    body: { email },
    ...(cookie === undefined ? {} : { headers: { cookie } }),
  });
  expect(response.status, JSON.stringify(response.body)).to.equal(200);
  const session = getCookie(response, 'token') as string;
  const browser = new TestCustomer(baseUrl, email, session, '');
  const { body } = await browser.requestWithSession('POST', '/api/keys/create/', { body: { name: 'test' } });
  return new TestCustomer(baseUrl, email, session, body.key);
}

/** Creates an affiliate and returns the code of their link. */
export async function enrollAffiliate(
  baseUrl: string,
  email?: string,
): Promise<{ affiliate: TestCustomer; code: string }> {
  const affiliate = await signUpCustomer(baseUrl, undefined, email);
  const { status, body } = await affiliate.request('POST', '/api/affiliate/enroll/', { body: {} });
  expect(status, JSON.stringify(body)).to.equal(200);
  return { affiliate, code: body.code };
}

/** Creates an account that signed up through a referral link. */
export async function signUpReferred(baseUrl: string, code: string): Promise<TestCustomer> {
  return signUpCustomer(baseUrl, await followReferralLink(baseUrl, code));
}

export async function getAffiliateStatus(affiliate: TestCustomer): Promise<any> {
  const { status, body } = await affiliate.request('GET', '/api/affiliate/status/');
  expect(status, JSON.stringify(body)).to.equal(200);
  return body;
}
