import type { ErrorCode } from '../../../../shared/spec/errors.ts';
import { type Api, call, callUntilKnown } from '../api.ts';
import { everywhere, inParallel, newStepId, report, retryUntilKnown, type Step } from '../clientState.ts';
import { buildCreateBody, newCreateRequest, recordCreateResponse, recordSent } from '../createRequests.ts';
import type { ChaosMember } from '../customers.ts';
import type { Json } from '../httpClient.ts';
import { submitPageForm } from '../pageRequests.ts';
import { buildSessionHeaders, callWithSession, readCookie, signIn } from '../sessions.ts';
import { CREATE_ERRORS } from './generations.ts';
import { pickMargin } from './limitedKeys.ts';

const MAX_MEMBERS = 2;
/** Number of simultaneous creates of a member. */
const BURST_SIZE = 8;

/** Lets a member of the account create: one who is invited, or one who is limited, changed or removed meanwhile. */
export async function useMember(step: Step): Promise<void> {
  const { customer, random } = step;
  const { members } = customer;
  if (members.length < MAX_MEMBERS && (members.length === 0 || random.chance(0.3))) return addMember(step);
  const member = random.pick(members);
  if (member.isChanging) return createInBurst(step, member);
  member.isChanging = true;
  await random.pick([limitWhileCreating, demoteWhileCreating, removeWhileCreating])(step, member);
  member.isChanging = false;
}

/** Sends a request of the owner until its outcome is known. */
function callAsOwner(step: Step, kind: string, send: (api: Api) => Promise<Json>, expects: readonly ErrorCode[]) {
  return retryUntilKnown(step, () => callWithSession(step, kind, send, { expects }));
}

/** Invites a person, who signs in and accepts. */
async function addMember(step: Step): Promise<void> {
  const email = `${newStepId(step)}@members.example`.toLowerCase();
  // Another invitation replaces one whose response was lost. An account sends a number of invitations a day.
  const invite = (api: Api) => api.send('POST /api/invitations/create/', { email, role: 'developer' });
  const invited = await callAsOwner(step, 'invite', invite, ['validation_error']);
  const cookie = invited.isGood ? await signInMember(step, email) : null;
  if (cookie === null) return;
  const { pathname } = new URL(invited.body.url as string);
  const person: Step = { ...step, customer: { ...step.customer, cookie } };
  await submitPageForm(person, 'page invitation', step.random.pick(step.state.addresses), pathname);
  // The invitation may not have been accepted.
  const listed = await callUntilKnown(step, 'members', (api) => api.send('GET /api/members/'));
  const found = listed.body?.data.find((row: Json) => row.email === email && row.removed_at === null);
  if (found !== undefined)
    step.customer.members.push({ email, uuid: found.uuid, cookie, creditsUsed: 0, isChanging: false });
}

/** @returns the session cookie; null if that failed. */
async function signInMember(step: Step, email: string): Promise<string | null> {
  const response = await retryUntilKnown(step, () => signIn(step, 'sign in a member', email));
  return response.isGood ? readCookie(response.headers['set-cookie'], 'token') : null;
}

function change(step: Step, { uuid }: ChaosMember, body: object) {
  const send = (api: Api) => api.send(`PATCH /api/members/${uuid}/`, body);
  // The account may have been deleted.
  return callAsOwner(step, 'change member', send, ['not_found', 'validation_error']);
}

/** Sets a limit of a few generations, and sends many more creates to all processes. */
async function limitWhileCreating(step: Step, member: ChaosMember): Promise<void> {
  // The window never ends, so that no clock matters.
  const limit = { credits: member.creditsUsed + pickMargin(step), period: 'total' };
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
  const body = { revoke_access: random.chance(0.5) };
  const remove = (api: Api) => api.send(`POST /api/members/${member.uuid}/remove/`, body);
  // After an attempt of unknown outcome it may be removed already.
  const removal = callAsOwner(step, 'remove member', remove, ['not_found']);
  const [removed] = await Promise.all([removal, createInBurst(step, member)]);
  if (removed.isUnknown) return;
  customer.members = customer.members.filter((other) => other !== member);
  if (removed.isGood || removed.code === 'not_found') await createNothing(step, before, 'was removed');
}

/** Errors of a create that its credential and role admit: a burst before it may have taken all slots of the account. */
const ADMITTED: readonly ErrorCode[] = [...CREATE_ERRORS, 'spending_limit_reached'];

/** Creates at all processes with the session of a member who may not, and reports what is admitted. */
async function createNothing(step: Step, member: ChaosMember, reason: string): Promise<void> {
  await everywhere(step, async (address) => {
    const { isGood, code } = await sendCreate(step, member, address);
    if (!isGood && (code === null || !ADMITTED.includes(code))) return;
    const detail = `${member.email} ${reason}, and was admitted at ${address}: ${code ?? 'created'}`;
    report(step, 'member-rights-are-kept', member.uuid, detail);
  });
}

async function createInBurst(step: Step, member: ChaosMember): Promise<void> {
  member.cookie ??= await signInMember(step, member.email);
  await inParallel(step, BURST_SIZE, async (address) => {
    const response = await sendCreate(step, member, address);
    if (response.isGood) member.creditsUsed += response.body.credits_charged;
    // The session has ended, as it does when a month passes.
    if (response.status === 401) member.cookie = null;
  });
}

/** Sends a create with the session of a member. */
async function sendCreate(step: Step, { cookie }: ChaosMember, address: string) {
  const request = newCreateRequest(step, null);
  const body = buildCreateBody(step, request);
  const headers = await buildSessionHeaders(step, cookie, address);
  recordSent(step, request);
  const response = await call(step, 'create as a member', (api) => api.send('POST /api/generations/create/', body), {
    key: null,
    address,
    headers,
    expects: [...ADMITTED, 'insufficient_scope'],
  });
  recordCreateResponse(step, request, response, response.body, 'REST');
  return response;
}
