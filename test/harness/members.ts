import { createBrowserFor, findForm } from './httpBrowser.ts';
import { createCustomer, TestCustomer } from './apiClient.ts';
import type { AssignableRole } from '../../shared/spec/roles.ts';

/** Invites a customer to the account of another. @returns the path of the link. */
export async function invite(owner: TestCustomer, { email }: { email: string }, role: AssignableRole): Promise<string> {
  const response = await owner.requestWithSession('POST', '/api/invitations/create/', { body: { email, role } });
  if (response.status !== 201) throw new Error(`Not invited: ${response.status} ${JSON.stringify(response.body)}`);
  return new URL(response.body.url).pathname;
}

/** Accepts the invitation of a link in the browser of a customer. @returns the status of the response to the form. */
export async function accept(customer: TestCustomer, path: string): Promise<number> {
  const visitor = createBrowserFor(customer);
  const { status, text } = await visitor.request(customer.baseUrl + path);
  if (status !== 200) return status;
  return (await visitor.submitForm(customer.baseUrl + path, findForm(text, path).fields)).status;
}

/** Adds a new person to an account. @returns the person, whose session acts on that account. */
export async function addMember(
  owner: TestCustomer,
  role: AssignableRole,
  baseUrl = owner.baseUrl,
): Promise<TestCustomer> {
  const person = await createCustomer(baseUrl, null);
  const status = await accept(person, await invite(owner, person, role));
  if (status !== 303) throw new Error(`Not accepted: ${status}`);
  return new TestCustomer(baseUrl, person.email, person.cookie, '');
}

/** Makes a person, who joins it first, the owner of the account of another. Its session acts on that account then. */
export async function handOver(owner: TestCustomer, heir: TestCustomer): Promise<void> {
  const accepted = await accept(heir, await invite(owner, heir, 'admin'));
  const { uuid } = await findListed(owner, heir);
  const { status } = await owner.requestWithSession('POST', `/api/members/${uuid}/hand-over/`);
  if (accepted !== 303 || status !== 204) throw new Error(`Not handed over: ${accepted}, ${status}`);
}

/** Gives a member an API key of the account that its session acts on. */
export async function withKey(member: TestCustomer): Promise<TestCustomer> {
  const created = await member.requestWithSession('POST', '/api/keys/create/', { body: { name: 'of a member' } });
  if (created.status !== 201) throw new Error(`No key: ${created.status} ${JSON.stringify(created.body)}`);
  return new TestCustomer(member.baseUrl, member.email, member.cookie, created.body.key);
}

/** Finds a member as the list of its account shows it. */
export async function findListed(owner: TestCustomer, { email }: { email: string }): Promise<any> {
  const { body } = await owner.requestWithSession('GET', '/api/members/');
  return body.data.find((member: { email: string }) => member.email === email);
}
