import { getPlanSlugs } from '../../../shared/lib/catalog/catalog.ts';
import type { PlanSlug } from '../../../shared/spec/plans.ts';
import type { SeededRandom } from '../../../test/fakes/seededRandom.ts';
import type { ObservedKey } from './journal.ts';

export interface CustomerRole {
  /** The initial plan; null for a customer who never subscribes. */
  plan: PlanSlug | null;
  hasAutoTopups: boolean;
  /** Threshold of automatic top-ups; null lets the seed choose. */
  threshold: number | null;
  /** Name of a list of actions in `clientLoop.ts`. Null does everything. */
  only:
    | 'members'
    | 'reads'
    | 'creates'
    | 'limits'
    | 'tests'
    | 'topups'
    | 'plans'
    | 'late payments'
    | 'suspensions'
    | null;
  /** Used by many clients at once. */
  isHot: boolean;
  isAffiliate: boolean;
  /** Signs up through the link of an affiliate. */
  isReferred: boolean;
  /** Creates and changes webhook endpoints. */
  hasEndpoints: boolean;
  /** Some of its creates have a `webhook_url`. */
  usesWebhookUrl: boolean;
}

/** A generation of a key or an application with a limit, and the time of the response by the clock of the service. */
export interface CreatedUnderLimit {
  uuid: string;
  at: Date;
}

/** A key whose spending limit clients change. */
export interface LimitedKey extends ObservedKey {
  /** Credits used of the limit, as far as responses show. */
  creditsUsed: number;
  /** True if the period of the limit may be a day or a month. */
  hasWindow: boolean;
  created: CreatedUnderLimit[];
  isChanging: boolean;
}

/** Options of a key that restrict what it may do. Null: no restriction of that kind. */
export interface KeyOptions {
  scopes: ('svc:read' | 'svc:write')[] | null;
  allowed_models: string[] | null;
  allowed_ips: string[] | null;
}

/** A key whose options clients change. */
export interface RestrictedKey extends ObservedKey {
  /** Options of the last change, whatever its outcome. */
  options: KeyOptions;
  isChanging: boolean;
  /** Earliest time of the next change, as of `performance.now`. */
  nextChangeAt: number;
}

/** A token of an application. Each API process is an issuer of its own here, and accepts only its own tokens. */
export interface AccessToken extends ObservedKey {
  address: string;
  /** By the clock of the service. */
  expiresAt: Date;
  /** Newest refresh token of its grant, which all processes accept; null if its response was lost. */
  refreshToken: string | null;
  refreshExpiresAt: Date;
}

/** An application that the customer connects, with a spending limit that clients change. */
export interface Application {
  clientId: string;
  /** Unique within a run. */
  name: string;
  /** Tokens, including those that have expired or were revoked. */
  tokens: AccessToken[];
  created: CreatedUnderLimit[];
  isChanging: boolean;
}

/** A person who is a member of the account of a customer. */
export interface ChaosMember {
  email: string;
  /** Identifies the member in the account. */
  uuid: string;
  /** Null if the session has ended. */
  cookie: string | null;
  /** Credits used, as far as responses show. */
  creditsUsed: number;
  isChanging: boolean;
}

/** One suspension of a customer by staff. Times are in milliseconds, as of `performance.now`. */
export interface Suspension {
  requestedAt: number;
  /** Null: not acknowledged yet. */
  confirmedAt: number | null;
  liftRequestedAt: number | null;
  liftedAt: number | null;
}

/** A customer who has an account, or is about to have one. */
export interface ChaosCustomer {
  index: number;
  email: string;
  role: CustomerRole;
  random: SeededRandom;
  uuid: string | null;
  cookie: string | null;
  /** Known keys, including revoked ones. */
  keys: ObservedKey[];
  /** Keys that have, or had, a spending limit. They are not among `keys`. */
  limitedKeys: LimitedKey[];
  /** Keys with other options. They are not among `keys` either. */
  restrictedKeys: RestrictedKey[];
  /** Members other than the customer. */
  members: ChaosMember[];
  /** Null until it is registered. */
  application: Application | null;
  /** Uuids of the latest generations, newest last. */
  generations: string[];
  /** Uuid of an upload whose file was sent; null without one. */
  upload: string | null;
  /** Session of the Model Context Protocol, with the id of its last request. */
  session: { id: string; requests: number } | null;
  /** Key that acts on the test account; null before it is created. */
  testKey: ObservedKey | null;
  /** Suspensions by staff, oldest first. */
  suspensions: Suspension[];
  /** Referral code of an affiliate. */
  code: string | null;
  isReady: boolean;
  /** Deletes its account. */
  isLeaving?: true;
}

const DEFAULT_ROLE = { hasAutoTopups: false, threshold: null, only: null, isAffiliate: false, isReferred: false };
const NOTHING_YET = {
  uuid: null,
  cookie: null,
  code: null,
  application: null,
  upload: null,
  session: null,
  testKey: null,
};

/** Customers of all kinds, assigned in this order, over and over; the seed chooses plans that are not given. */
const ROLES: readonly Partial<CustomerRole>[] = [
  // No burn leaves it below its threshold: its top-ups are those for creates that the balance does not cover. They are
  // ready first, because responses to charges are lost when a run begins.
  { plan: 'lite', isHot: true, hasAutoTopups: true, threshold: 0, only: 'creates' },
  { plan: 'lite', isHot: true, hasAutoTopups: true, threshold: 0, only: 'creates' },
  { plan: 'lite', isHot: true, hasAutoTopups: true, threshold: 0, only: 'creates' },
  { plan: 'studio', isHot: true, hasAutoTopups: true },
  { plan: 'pro', isHot: true, hasAutoTopups: true },
  // Its parallel limit leaves room for the creates that meet at a spending limit.
  { plan: 'studio', isHot: true, hasAutoTopups: true, only: 'limits' },
  // Its first burn needs credits while the event of a page that it has paid is late.
  { plan: 'lite', hasAutoTopups: true, threshold: 199, only: 'late payments' },
  { isAffiliate: true },
  { isReferred: true },
  { plan: null },
  { plan: null },
  // Each burn leaves it below the threshold, so that its suspensions find a recorded trigger.
  { plan: 'studio', isHot: true, hasAutoTopups: true, threshold: 1_000_000, only: 'suspensions' },
  { isReferred: true, hasAutoTopups: true },
  { hasAutoTopups: true },
  // Its balance is always below the threshold, and nothing is ever burned.
  { plan: 'lite', hasAutoTopups: true, threshold: 1_000_000, only: 'reads' },
  // Its endpoints are released while the next event is recorded. No other event makes them due afterwards.
  { plan: null, only: 'tests' },
  // Its plan credits are spent soon, so that it spends what it buys.
  { plan: 'lite', isHot: true, only: 'topups' },
  // Its plan is upgraded and returned often enough that it changes several times in a month.
  { plan: 'lite', isHot: true, only: 'plans' },
  // Its parallel limit leaves room for the creates of its members.
  { plan: 'studio', isHot: true, hasAutoTopups: true, only: 'members' },
];

/** Customers of which there is one of each kind. */
export const CUSTOMER_KINDS = ROLES.length;

export function createCustomers(count: number, random: SeededRandom): ChaosCustomer[] {
  return Array.from({ length: count }, (_, index) => {
    const own = random.fork(`customer ${index}`);
    const role = ROLES[index % ROLES.length] as Partial<CustomerRole>;
    return {
      index,
      email: `customer-${index}@example.com`,
      role: {
        plan: own.pick(getPlanSlugs()),
        ...DEFAULT_ROLE,
        ...role,
        // The second round has no hot accounts: only a few accounts have many clients.
        isHot: role.isHot === true && index < ROLES.length,
        // Every third customer has no endpoint, and every other one no webhook_url: all combinations exist.
        hasEndpoints: role.only === 'tests' || index % 3 !== 2,
        usesWebhookUrl: index % 2 === 0,
      },
      random: own,
      ...NOTHING_YET,
      isReady: false,
      keys: [],
      limitedKeys: [],
      restrictedKeys: [],
      members: [],
      generations: [],
      suspensions: [],
    };
  });
}

export function isLimited({ limitedKeys }: ChaosCustomer, { uuid }: ObservedKey): boolean {
  return limitedKeys.some((key) => key.uuid === uuid);
}

export function isRestricted({ restrictedKeys }: ChaosCustomer, { uuid }: ObservedKey): boolean {
  return restrictedKeys.some((key) => key.uuid === uuid);
}

/** Keys that no client has tried to revoke. */
export function getActiveKeys({ keys }: ChaosCustomer): ObservedKey[] {
  return keys.filter(({ revokeRequestedAt }) => revokeRequestedAt === null);
}

interface RequestTimes {
  beganAt: number;
  endedAt: number;
}

/** Returns whether the account may have been suspended at some moment of a request. */
export function mayBeSuspended({ suspensions }: ChaosCustomer, { beganAt, endedAt }: RequestTimes): boolean {
  return suspensions.some(
    ({ requestedAt, liftedAt }) => endedAt >= requestedAt && (liftedAt === null || beganAt <= liftedAt),
  );
}

/** Returns whether the account was certainly suspended from the start of a request to its end. */
export function isSuspendedThroughout({ suspensions }: ChaosCustomer, { beganAt, endedAt }: RequestTimes): boolean {
  return suspensions.some(
    ({ confirmedAt, liftRequestedAt }) =>
      confirmedAt !== null && beganAt > confirmedAt && (liftRequestedAt === null || endedAt < liftRequestedAt),
  );
}
