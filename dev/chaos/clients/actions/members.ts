import type { ErrorCode } from '../../../../shared/spec/errors.ts';
import { newStepId, reportViolation, type Step } from '../clientState.ts';
import { newCreateRequest, recordCreateResponse, recordSent } from '../createRequests.ts';
import type { ChaosMember } from '../customers.ts';
import { buildWebhookUrl } from './create.ts';
import { submitPageForm } from '../oauthRequests.ts';
import { discoverOrigin, readCookie, sendWithSession } from '../onboardCustomer.ts';
import { type RestResponse, sendRest, sendWithKey } from '../restRequests.ts';
import { retryUntilKnown } from '../retry.ts';

const MAX_MEMBERS = 2;
/** Number of simultaneous creates of a member. */
const BURST_SIZE = 8;

/** Lets a member of the account create: one who is invited, or one who is limited, changed or removed meanwhile. */
export async function useMember(step: Step): Promise<void> {
  const { customer, random } = step;
  const { members } = customer;
  if (members.length < MAX_MEMBERS && (members.length === 0 || random.chance(0.3))) {
    await addMember(step);
    return;
  }
  const member = random.pick(members);
  if (member.isChanging) {
    await createInBurst(step, member);
    return;
  }
  member.isChanging = true;
  await random.pick([limitWhileCreating, demoteWhileCreating, removeWhileCreating])(step, member);
  member.isChanging = false;
}

/** Invites a person, who signs in and accepts. */
async function addMember(step: Step): Promise<void> {
  const email = `${newStepId(step)}@members.example`.toLowerCase();
  // Another invitation replaces one whose response was lost.
  const invited = await retryUntilKnown(step, () =>
    sendWithSession(step, {
      kind: 'invite',
      method: 'POST',
      path: '/api/invitations/create/',
      body: { email, role: 'developer' },
      // An account sends a number of invitations a day.
      expectedErrors: ['validation_error'],
      status: 201,
      shape: 'sentInvitation',
    }),
  );
  const cookie = invited.isGood ? await signIn(step, email) : null;
  if (cookie === null) return;
  const { pathname } = new URL(invited.body.url as string);
  const person: Step = { ...step, customer: { ...step.customer, cookie } };
  const address = step.random.pick(step.state.addresses);
  await submitPageForm(person, { kind: 'page invitation', address, path: pathname, fields: () => ({}) });
  const uuid = await findUuid(step, email);
  if (uuid !== undefined) step.customer.members.push({ email, uuid, cookie, creditsUsed: 0, isChanging: false });
}

/** Signs a member in. @returns the session cookie; null if that failed. */
async function signIn(step: Step, email: string): Promise<string | null> {
  const response = await retryUntilKnown(step, () =>
    sendRest(step, {
      kind: 'sign in a member',
      method: 'POST',
      path: '/authentication/dev/sign-in/',
      body: { email },
      isPublic: true,
      status: 200,
      shape: 'user',
    }),
  );
  return response.isGood ? readCookie(response.headers['set-cookie'], 'token') : null;
}

/** Finds a new member in the list; undefined if the invitation was not accepted. */
async function findUuid(step: Step, email: string): Promise<string | undefined> {
  const { isGood, body } = await retryUntilKnown(step, () =>
    sendWithKey(step, { kind: 'members', method: 'GET', path: '/api/members/', status: 200, shape: 'members' }),
  );
  const listed = isGood ? (body.data as { email: string; uuid: string; removed_at: string | null }[]) : [];
  return listed.find((member) => member.email === email && member.removed_at === null)?.uuid;
}

function change(step: Step, { uuid }: ChaosMember, body: object): Promise<RestResponse> {
  return retryUntilKnown(step, () =>
    sendWithSession(step, {
      kind: 'change member',
      method: 'PATCH',
      path: `/api/members/${uuid}/`,
      body,
      // The account may have been deleted.
      expectedErrors: ['not_found', 'validation_error'],
      status: 200,
      shape: 'member',
    }),
  );
}

/** Sets a limit of a few generations, and sends many more creates to all processes. */
async function limitWhileCreating(step: Step, member: ChaosMember): Promise<void> {
  const credits = member.creditsUsed + step.random.nextBetween(8, 80);
  // The window never ends, so that no clock matters.
  const limit = { credits, period: 'total' };
  const first = await change(step, member, { credit_limit: limit });
  member.creditsUsed = first.body?.credits_used ?? member.creditsUsed;
  const isRemoved = step.random.chance(0.2);
  await Promise.all([
    createInBurst(step, member),
    ...(isRemoved ? [change(step, member, { credit_limit: null })] : []),
  ]);
}

/** Makes the member a viewer while it creates, and a developer again. */
async function demoteWhileCreating(step: Step, member: ChaosMember): Promise<void> {
  const [changed] = await Promise.all([change(step, member, { role: 'viewer' }), createInBurst(step, member)]);
  if (changed.isGood) await createNothing(step, member, 'is a viewer');
  await change(step, member, { role: 'developer' });
}

/** Removes the member while it creates. */
async function removeWhileCreating(step: Step, member: ChaosMember): Promise<void> {
  const { customer, random } = step;
  // The session of a later sign-in acts on the person's own account.
  const before = { ...member };
  const removal = retryUntilKnown(step, () =>
    sendWithSession(step, {
      kind: 'remove member',
      method: 'POST',
      path: `/api/members/${member.uuid}/remove/`,
      body: { revoke_access: random.chance(0.5) },
      // After an attempt of unknown outcome it may be removed already.
      expectedErrors: ['not_found'],
      status: 200,
      shape: 'endedAccess',
    }),
  );
  const [removed] = await Promise.all([removal, createInBurst(step, member)]);
  if (removed.isUnknown) return;
  customer.members = customer.members.filter((other) => other !== member);
  if (removed.isGood || removed.code === 'not_found') await createNothing(step, before, 'was removed');
}

/** Errors of a create that its credential and role admit: a burst before it may have taken all slots of the account. */
const ADMITTED: readonly ErrorCode[] = [
  'subscription_required',
  'insufficient_credits',
  'parallel_limit_reached',
  'model_unavailable',
  'spending_limit_reached',
];

/** Creates at all processes with the session of a member who may not, and reports what is admitted. */
async function createNothing(step: Step, member: ChaosMember, reason: string): Promise<void> {
  const sent = step.state.addresses.map(async (address) => {
    const response = await sendCreate(step, member, address);
    if (response.isGood || (response.code !== null && ADMITTED.includes(response.code)))
      reportViolation(
        step,
        'member-rights-are-kept',
        member.uuid,
        `${member.email} ${reason}, and was admitted at ${address}: ${response.code ?? 'created'}`,
      );
  });
  await Promise.all(sent);
}

async function createInBurst(step: Step, member: ChaosMember): Promise<void> {
  member.cookie ??= await signIn(step, member.email);
  const { addresses } = step.state;
  const sent = Array.from({ length: BURST_SIZE }, async (_, index) => {
    const response = await sendCreate(step, member, addresses[index % addresses.length] as string);
    if (response.isGood) member.creditsUsed += response.body.credits_charged;
    // The session has ended, as it does when a month passes.
    if (response.status === 401) member.cookie = null;
  });
  await Promise.all(sent);
}

/** Sends a create with the session of a member. */
async function sendCreate(step: Step, { cookie }: ChaosMember, address: string): Promise<RestResponse> {
  const origin = await discoverOrigin(step, address);
  const request = newCreateRequest(step, null);
  const { observed, params } = request;
  recordSent(step, request);
  const response = await sendRest(step, {
    kind: 'create as a member',
    method: 'POST',
    path: '/api/generations/create/',
    address,
    body: { model: observed.model, prompt: observed.prompt, params, ...buildWebhookUrl(step, observed.webhookToken) },
    headers: { cookie: cookie ?? '', ...(origin === null ? {} : { origin }) },
    expectedErrors: [...ADMITTED, 'insufficient_scope'],
    status: 201,
    shape: 'generation',
  });
  recordCreateResponse(step, request, response, response.body, 'REST');
  return response;
}
