import { getPlanSlugs } from '../../../shared/lib/catalog/catalog.ts';
import type { PlanSlug } from '../../../shared/spec/plans.ts';
import type { SeededRandom } from '../../../test/fakes/seededRandom.ts';
import type { AccessToken } from './accessTokens.ts';
import type { ObservedKey } from './clientStore.ts';
import type { Suspension } from './suspensions.ts';

export interface CustomerRole {
  /** The initial plan; null for a customer who never subscribes. */
  plan: PlanSlug | null;
  /** Uses automatic top-ups. */
  hasAutoTopups: boolean;
  /** Threshold of automatic top-ups; null lets the seed choose. */
  threshold: number | null;
  /**
   * `reads` only reads; `creates` creates, but neither buys credits nor changes its plan; `limits` creates only with keys
   * and an application that have spending limits; `tests` only sends test events to its endpoints; `topups` buys, spends
   * and returns credits; `plans` buys, upgrades and returns plans, and deletes accounts; `late payments` pays pages whose
   * events are late, and creates; `suspensions` creates, and is suspended again and again; `members` creates with the sessions
   * of members. Null does everything.
   */
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

/** A session of the Model Context Protocol. */
export interface McpSession {
  id: string;
  /** Id of the last request. */
  requests: number;
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
  scopes: string[] | null;
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
  session: McpSession | null;
  /** Key that acts on the test account; null before it is created. */
  testKey: string | null;
  /** Suspensions by staff, oldest first. */
  suspensions: Suspension[];
  /** Referral code of an affiliate. */
  code: string | null;
  isReady: boolean;
  /** Deletes its account. */
  isLeaving?: true;
}

const DEFAULT_ROLE = {
  hasAutoTopups: false,
  threshold: null,
  only: null,
  isHot: false,
  isAffiliate: false,
  isReferred: false,
  hasEndpoints: false,
  usesWebhookUrl: false,
};

/** Customers of all kinds, assigned in this order, over and over; `null` lets the seed choose the plan. */
const ROLES: readonly (Partial<CustomerRole> & { isUnsubscribed?: boolean })[] = [
  { plan: 'studio', isHot: true, hasAutoTopups: true },
  { plan: 'pro', isHot: true, hasAutoTopups: true },
  // Its parallel limit leaves room for the creates that meet at a spending limit.
  { plan: 'studio', isHot: true, hasAutoTopups: true, only: 'limits' },
  // Its first burn needs credits while the event of a page that it has paid is late.
  { plan: 'lite', hasAutoTopups: true, threshold: 199, only: 'late payments' },
  { isAffiliate: true },
  { isReferred: true },
  { isUnsubscribed: true },
  { isUnsubscribed: true },
  // Each burn leaves it below the threshold, so that its suspensions find a recorded trigger.
  { plan: 'studio', isHot: true, hasAutoTopups: true, threshold: 1_000_000, only: 'suspensions' },
  { isReferred: true, hasAutoTopups: true },
  { hasAutoTopups: true },
  // Its balance is always below the threshold, and nothing is ever burned.
  { plan: 'lite', hasAutoTopups: true, threshold: 1_000_000, only: 'reads' },
  // No burn leaves it below its threshold: its top-ups are those for creates that the balance does not cover.
  { plan: 'lite', isHot: true, hasAutoTopups: true, threshold: 0, only: 'creates' },
  { plan: 'lite', isHot: true, hasAutoTopups: true, threshold: 0, only: 'creates' },
  { plan: 'lite', isHot: true, hasAutoTopups: true, threshold: 0, only: 'creates' },
  // Its endpoints are released while the next event is recorded. No other event makes them due afterwards.
  { isUnsubscribed: true, only: 'tests' },
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
    const { isUnsubscribed = false, ...role } = ROLES[index % ROLES.length] as (typeof ROLES)[number];
    const plan = isUnsubscribed ? null : own.pick(getPlanSlugs());
    // The second round has no hot accounts: only a few accounts have many clients.
    const isHot = role.isHot === true && index < ROLES.length;
    // Every third customer has no endpoint, and every other one no webhook_url: all combinations exist.
    const webhooks = { hasEndpoints: role.only === 'tests' || index % 3 !== 2, usesWebhookUrl: index % 2 === 0 };
    return {
      index,
      email: `customer-${index}@example.com`,
      role: { ...DEFAULT_ROLE, plan, ...role, isHot, ...webhooks },
      random: own,
      uuid: null,
      cookie: null,
      keys: [],
      limitedKeys: [],
      restrictedKeys: [],
      members: [],
      application: null,
      generations: [],
      upload: null,
      session: null,
      testKey: null,
      suspensions: [],
      code: null,
      isReady: false,
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
  return keys.filter(({ revokeRequestedAt: revokeAskedAt }) => revokeAskedAt === null);
}
