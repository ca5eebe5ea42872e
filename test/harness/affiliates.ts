import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { type Answer, Customer, request } from './client.ts';

/** The cookie that following a link leaves in a browser; undefined where it leaves none. */
export async function follow(baseUrl: string, code: string, cookie?: string): Promise<string | undefined> {
  const answer = await request(baseUrl, 'GET', `/r/${code}`, cookie === undefined ? {} : { headers: { cookie } });
  expect(answer.status, code).to.equal(303);
  return cookieIn(answer, 'referral');
}

export function cookieIn({ headers }: Answer, name: string): string | undefined {
  const lines = headers.getSetCookie().map((line) => line.split(';')[0] as string);
  return lines.find((line) => line.startsWith(`${name}=`));
}

/** Somebody new, or not, who signs in with these cookies. */
export async function signUp(
  baseUrl: string,
  cookie?: string,
  email = `${randomUUID()}@example.com`,
): Promise<Customer> {
  const answer = await request(baseUrl, 'POST', '/authentication/dev/sign-in/', {
    body: { email },
    ...(cookie === undefined ? {} : { headers: { cookie } }),
  });
  expect(answer.status, JSON.stringify(answer.body)).to.equal(200);
  const session = cookieIn(answer, 'token') as string;
  const browser = new Customer(baseUrl, email, session, '');
  const { body } = await browser.browse('POST', '/api/keys/create/', { body: { name: 'test' } });
  return new Customer(baseUrl, email, session, body.key);
}

/** An affiliate, and the code of their link. */
export async function enrolled(baseUrl: string, email?: string): Promise<{ affiliate: Customer; code: string }> {
  const affiliate = await signUp(baseUrl, undefined, email);
  const { status, body } = await affiliate.call('POST', '/api/affiliate/enroll/', { body: {} });
  expect(status, JSON.stringify(body)).to.equal(200);
  return { affiliate, code: body.code };
}

/** Somebody who came by a link. */
export async function referred(baseUrl: string, code: string): Promise<Customer> {
  return signUp(baseUrl, await follow(baseUrl, code));
}

export async function affiliateStatus(affiliate: Customer): Promise<any> {
  const { status, body } = await affiliate.call('GET', '/api/affiliate/status/');
  expect(status, JSON.stringify(body)).to.equal(200);
  return body;
}
