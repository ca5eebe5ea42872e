import { type Answer, ask, askWith, type Question } from './ask.ts';
import { makeKey } from './actions/keys.ts';
import { get } from './actions/lists.ts';
import { openCheckout } from './actions/subscribe.ts';
import { visit } from './actions/topUp.ts';
import { goodKeysOf } from './customers.ts';
import { enter, parsed, send } from './send.ts';
import { accuseOf, sleep, type Turn } from './world.ts';

/** How often a customer looks whether the plan that they have paid has begun, before they ask again. */
const LOOKS = 12;

/** Makes somebody a customer, whatever stands in the way. @throws Stopped */
export async function settleIn(turn: Turn): Promise<void> {
  const { customer } = turn;
  const { role } = customer;
  await until(turn, () => signUp(turn));
  await until(turn, async () => (await makeKey(turn, (question) => askByCookie(turn, question))) !== undefined);
  // From here on others may use it: what follows takes its time.
  if (role.isAffiliate) await until(turn, () => enroll(turn));
  if (role.plan !== null) await until(turn, () => subscribe(turn));
  customer.isReady = true;
  if (role.isAffiliate) await until(turn, () => onboard(turn));
  if (role.hasAutoTopups) await until(turn, () => switchAutoTopupsOn(turn));
}

async function until(turn: Turn, step: () => Promise<boolean>): Promise<void> {
  while (!(await step())) await sleep(turn.world, turn.random.between(200, 1_000));
}

/** Signs in, for the first time by an affiliate's link where the customer is one of theirs. */
async function signUp(turn: Turn): Promise<boolean> {
  const { role, uuid } = turn.customer;
  if (!role.isReferred || uuid !== null) return signIn(turn);
  const link = await followLink(turn);
  return link !== null && (await signIn(turn, link));
}

async function followLink(turn: Turn): Promise<string | null> {
  const { world, random } = turn;
  const codes = world.customers.map(({ code }) => code).filter((code) => code !== null);
  if (codes.length === 0) return null;
  const address = random.pick(world.addresses);
  const kind = 'follow link';
  const reply = await send(world, { kind, method: 'GET', path: `/r/${random.pick(codes)}`, address, headers: {} });
  enter(world, kind, reply, null);
  return cookieIn(reply.headers['set-cookie'], 'referral');
}

async function signIn(turn: Turn, cookie?: string): Promise<boolean> {
  const { world, customer } = turn;
  const answer = await askWith(turn, {
    kind: 'sign in',
    method: 'POST',
    path: '/authentication/dev/sign-in/',
    body: { email: customer.email },
    headers: cookie === undefined ? {} : { cookie },
    status: 200,
    shape: 'user',
  });
  if (!answer.isGood) return false;
  const { uuid, email } = answer.body.user as { uuid: string; email: string };
  if (customer.uuid !== null && customer.uuid !== uuid) {
    accuseOf(turn, 'created-is-there', email, `was the account ${customer.uuid} and is ${uuid}`);
  }
  customer.uuid = uuid;
  customer.cookie = cookieIn(answer.headers['set-cookie'], 'token');
  world.books.accounts.set(uuid, email);
  return customer.cookie !== null;
}

function cookieIn(lines: string | string[] | undefined, name: string): string | null {
  const cookies = [lines ?? []].flat().map((line) => line.split(';')[0] as string);
  return cookies.find((cookie) => cookie.startsWith(`${name}=`)) ?? null;
}

/** Asks as a browser that is signed in; signs in again where that is over. */
async function askByCookie(turn: Turn, question: Question): Promise<Answer> {
  const { world, customer, random } = turn;
  const address = random.pick(world.addresses);
  const origin = await originOf(turn, address);
  const headers = { ...question.headers, cookie: customer.cookie ?? '', ...(origin === null ? {} : { origin }) };
  const answer = await askWith(turn, { ...question, address, headers });
  if (answer.status === 401) {
    world.origins.delete(address);
    await signIn(turn);
    return { ...answer, isUnknown: true };
  }
  return answer;
}

/** Where the service takes itself to be: what it is asked by is a proxy. null where it does not say. */
async function originOf({ world }: Turn, address: string): Promise<string | null> {
  const known = world.origins.get(address);
  if (known !== undefined) return known;
  const kind = 'discover';
  const path = '/.well-known/oauth-protected-resource';
  const reply = await send(world, { kind, method: 'GET', path, address, headers: {} });
  enter(world, kind, reply, null);
  const resource: unknown = parsed(reply.text)?.resource;
  if (typeof resource !== 'string') return null;
  const { origin } = new URL(resource);
  world.origins.set(address, origin);
  return origin;
}

/** Pays for the plan, and waits for it to begin. */
async function subscribe(turn: Turn): Promise<boolean> {
  const { customer, world, random } = turn;
  if (customer.role.plan === null || (await isSubscribed(turn))) return true;
  await openCheckout(turn, customer.role.plan, true);
  for (let look = 0; look < LOOKS; look += 1) {
    await sleep(world, random.between(200, 500));
    if (await isSubscribed(turn)) return true;
  }
  return false;
}

async function isSubscribed(turn: Turn): Promise<boolean> {
  const status = await get(turn, 'billing status', '/api/billing/status/', 'billingStatus');
  return status.isGood && status.body.plan !== null;
}

async function enroll(turn: Turn): Promise<boolean> {
  const question = {
    kind: 'enroll',
    method: 'POST',
    path: '/api/affiliate/enroll/',
    status: 200,
    shape: 'enroll',
  } as const;
  const answer = await ask(turn, question);
  if (!answer.isGood) return false;
  turn.customer.code = answer.body.code as string;
  const again = await ask(turn, question);
  if (again.isGood && again.body.code !== turn.customer.code) {
    accuseOf(turn, 'code-stays', turn.customer.code, `and ${again.body.code}`);
  }
  return true;
}

async function onboard(turn: Turn): Promise<boolean> {
  const answer = await ask(turn, {
    kind: 'onboard',
    method: 'POST',
    path: '/api/affiliate/onboarding-link/',
    status: 200,
    shape: 'onboardingLink',
  });
  if (!answer.isGood) return false;
  visit(() => turn.world.stripe.onboard(answer.body.url as string));
  return true;
}

async function switchAutoTopupsOn(turn: Turn): Promise<boolean> {
  const { random } = turn;
  const answer = await ask(turn, {
    kind: 'change top-up settings',
    method: 'PATCH',
    path: '/api/billing/topup/settings/',
    body: {
      auto_topup_enabled: true,
      auto_topup_amount_cents: 100 * random.between(50, 80),
      // Half of them want more than one top-up buys: their next one waits for nothing but the hour to be over.
      auto_topup_threshold_credits:
        turn.customer.role.threshold ??
        (random.chance(0.5) ? random.between(100, 2_500) : random.between(20_000, 90_000)),
    },
    // The plan may have been ended in the meantime.
    mayBe: ['subscription_required'],
    status: 200,
    shape: 'topupSettings',
  });
  return answer.isGood;
}

/** Whether a customer can be used by a client. */
export function isAtWork(turn: Turn): boolean {
  return turn.customer.isReady && goodKeysOf(turn.customer).length > 0;
}
