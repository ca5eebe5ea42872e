import { randomUUID } from 'node:crypto';
import { TestCustomer } from './apiClient.ts';
import type { TestService } from './testService.ts';

/** Creates another key of a customer, with options. @returns its uuid, and the customer with this key. */
export async function createRestrictedKey(
  service: TestService,
  owner: TestCustomer,
  options: object,
): Promise<{ uuid: string; customer: TestCustomer }> {
  const { status, body } = await owner.requestWithSession('POST', '/api/keys/create/', {
    body: { name: `restricted ${randomUUID()}`, ...options },
  });
  if (status !== 201) throw new Error(`Not created: ${status} ${JSON.stringify(body)}`);
  return { uuid: body.uuid, customer: new TestCustomer(service.baseUrl, owner.email, owner.cookie, body.key) };
}
