import { randomUUID } from 'node:crypto';
import pLimit from 'p-limit';
import { requestAccountDeletion, undoAccountDeletion } from '../../shared/domain/privacy/deletion.ts';
import { buildServiceCaller } from '../../shared/domain/accounts/caller.ts';
import { SERVICE_ORIGIN } from '../../shared/domain/accounts/securityEvents.ts';
import { startPlanCheckout } from '../../shared/domain/billing/checkout.ts';
import { runBillingMaintenance } from '../../shared/domain/billing/maintenance.ts';
import { FOLLOW_UP } from '../../shared/domain/billing/followUps.ts';
import { ISSUE_REFUND } from '../../shared/domain/billing/issueRefunds.ts';
import { APPLY_PAYMENT_EVENT } from '../../shared/domain/billing/paymentEvents.ts';
import { storePaymentEvents } from '../../shared/domain/billing/receivePaymentEvents.ts';
import { reconcilePayments } from '../../shared/domain/billing/reconcile.ts';
import { renewDueCreditPeriods } from '../../shared/domain/credits/renewDuePeriods.ts';
import { SUBJECT_TASK_KINDS } from '../../shared/domain/features.ts';
import { DELETE_ACCOUNT } from '../../shared/domain/privacy/deletionSweep.ts';
import { now } from '../../shared/lib/clock.ts';
import { ServiceError } from '../../shared/spec/errors.ts';
import type { FakeStripe } from '../fakes/stripe/fakeStripe.ts';
import { findCharge } from '../fakes/stripe/reversals.ts';
import type { SeededRandom } from '../fakes/seededRandom.ts';
import { getId } from '../fakes/stripe/store.ts';
import { isEnded } from '../fakes/stripe/subscriptions.ts';
import type { BillingService } from './billingService.ts';
import { seedBurn } from './seeds.ts';
import { runAccountDeletions, runTasks } from './tasks.ts';

const PLANS = ['lite', 'starter', 'pro', 'studio'];

/** Rounds in which the service follows its own changes at Stripe. */
const ROUNDS_MAX = 20;

/**
 * Actions at Stripe and here that change what an account has paid for, with their frequencies: most sequences have
 * payments to refund and to dispute, and few end early.
 */
export const PAYMENT_ACTIONS = {
  upgrade: 8,
  downgrade: 2,
  spend: 4,
  refund: 5,
  'half refund': 2,
  dispute: 3,
  win: 2,
  lose: 2,
  cancel: 1,
  resume: 1,
  delete: 1,
  'undo deletion': 1,
  '40 days': 5,
  '330 days': 2,
};

/** Number of values of `which`. */
export const CHOICES = 4;

export interface PaymentAction {
  type: keyof typeof PAYMENT_ACTIONS;
  /** Chooses the payment that the action is about, or the part of the credits that is spent. */
  which: number;
}

/** An account whose events are delivered at once, or late, doubled and out of order. */
export class PaymentWorld {
  readonly account: { id: number; uuid: string; email: string };
  private readonly billing: BillingService;
  private readonly delaysEvents: boolean;
  private readonly random: SeededRandom;
  private held: string[] = [];
  /** Number of events of Stripe that were read. */
  private eventCount = 0;
  private subscriptionId = '';
  private customerId = '';

  constructor(billing: BillingService, account: PaymentWorld['account'], random: SeededRandom, delaysEvents: boolean) {
    this.billing = billing;
    this.account = account;
    this.random = random;
    this.delaysEvents = delaysEvents;
    this.eventCount = billing.stripe.events.length;
  }

  private get stripe(): FakeStripe {
    return this.billing.stripe;
  }

  async subscribe(): Promise<void> {
    const url = await startPlanCheckout(buildServiceCaller(this.account.id), 'lite', randomUUID());
    const { subscription, customer } = this.stripe.completeCheckout(url as string);
    [this.subscriptionId, this.customerId] = [getId(subscription), getId(customer)];
    await this.deliver();
  }

  /** Returns whether the year of the subscription ends before a time. */
  renewsBefore(date: Date): boolean {
    const { items } = this.stripe.store.get('subscription', this.subscriptionId);
    return items.data.some(({ current_period_end: end }) => 1_000 * end <= date.getTime());
  }

  /** Returns whether a second year of the subscription is paid. */
  isRenewed(): boolean {
    return this.listCharges().length > 1;
  }

  /** Stores the events that have happened since; those of a prompt world are processed at once. */
  async collect(): Promise<void> {
    for (let round = 0; ; round += 1) {
      const events = this.takeEvents();
      if (events.length === 0) return;
      if (round > ROUNDS_MAX)
        throw new Error(`The service causes ever more events: ${events.map(({ type }) => type).join(', ')}.`);
      await storePaymentEvents(toAsync(events));
      this.held.push(...events.map(({ id }) => id));
      if (!this.delaysEvents) await this.process();
    }
  }

  /** Processes all events of the account, and those that follow. */
  async deliver(): Promise<void> {
    await this.collect();
    for (let round = 0; this.held.length > 0; round += 1) {
      if (round > ROUNDS_MAX) throw new Error('The service causes ever more events.');
      await this.process();
      await this.collect();
    }
  }

  /** Processes the events that are held: by two workers at a time, each with all of them, unless they come promptly. */
  private async process(): Promise<void> {
    const ids = this.held.splice(0);
    if (!this.delaysEvents) return applyEvents(ids);
    await Promise.all([this.shuffle(ids), this.shuffle(ids)].map(applyEvents));
  }

  private shuffle(ids: string[]): string[] {
    const places = new Map(ids.map((id) => [id, this.random.next()]));
    return ids.toSorted((a, b) => (places.get(a) as number) - (places.get(b) as number));
  }

  private takeEvents() {
    const { store, events } = this.stripe;
    const fresh = events.slice(this.eventCount);
    this.eventCount = events.length;
    return fresh
      .filter(({ id }) => findCustomer(this.stripe, store.get('event', id).data.object) === this.customerId)
      .map(({ body, ...event }) => ({ ...event, payload: body }));
  }

  /**
   * Performs an action. Those of the customer follow what the service has done at Stripe by then, such as a change back
   * to the paid plan, as they are offered on pages that show it: the events before them are delivered first.
   * @returns whether it was possible.
   */
  async perform({ type, which }: PaymentAction): Promise<boolean> {
    if (['upgrade', 'downgrade', 'cancel', 'resume', 'delete', 'undo deletion'].includes(type)) await this.deliver();
    const isDone = await this.tryAction(type, which);
    await this.collect();
    return isDone;
  }

  private async tryAction(type: PaymentAction['type'], which: number): Promise<boolean> {
    const { id, email } = this.account;
    if (type === 'delete') {
      await requestAccountDeletion(buildServiceCaller(id), email, SERVICE_ORIGIN);
      await runAccountDeletions();
      return true;
    }
    if (type === 'undo deletion') {
      await undoAccountDeletion(buildServiceCaller(id), SERVICE_ORIGIN).catch(ignoreRejection);
      await runAccountDeletions();
      return true;
    }
    if (type === 'upgrade' || type === 'downgrade') return this.changePlan(type === 'upgrade' ? 1 : -1);
    const subscription = this.stripe.store.get('subscription', this.subscriptionId);
    const isLive = subscription.status === 'active';
    if (type === 'cancel' || type === 'resume') {
      const isCanceled = subscription.cancel_at !== null;
      // A customer who disputes a payment cannot use the account, and is offered neither.
      if (!isLive || isCanceled === (type === 'cancel') || this.listDisputes().length > 0) return false;
      if (type === 'cancel') this.stripe.cancelAtPeriodEnd(subscription.id);
      else this.stripe.resume(subscription.id);
      return true;
    }
    if (type === 'win' || type === 'lose') {
      const [dispute] = this.listDisputes();
      if (dispute === undefined) return false;
      this.stripe.closeDispute(dispute.id, type === 'win' ? 'won' : 'lost');
      return true;
    }
    const charges = this.listCharges().filter(({ disputed, refunded }) => !disputed && !refunded);
    const charge = charges[which % Math.max(1, charges.length)];
    if (charge === undefined) return false;
    const rest = charge.amount - charge.amount_refunded;
    if (type === 'dispute') this.stripe.openDispute(charge.id, { amountCents: rest });
    else this.stripe.refund(charge.id, type === 'refund' ? rest : Math.ceil(rest / 2));
    return true;
  }

  private async changePlan(step: 1 | -1): Promise<boolean> {
    const { plan } = await this.readAccount();
    const next = PLANS[PLANS.indexOf(plan ?? '') + step];
    if (plan === null || next === undefined) return false;
    const url = await startPlanCheckout(buildServiceCaller(this.account.id), next, randomUUID()).catch(ignoreRejection);
    if (typeof url !== 'string' || !url.includes('bps_')) return false;
    this.stripe.confirmPlanSwitch(url);
    return true;
  }

  private listCharges() {
    const { store } = this.stripe;
    const invoices = store.list('invoice').filter(({ customer }) => getId(customer) === this.customerId);
    const paid = invoices.filter(({ amount_paid: cents }) => cents > 0);
    return paid.map(({ id }) => findCharge(store, id)).toReversed();
  }

  private listDisputes() {
    const charges = new Set(this.listCharges().map(({ id }) => id));
    const disputes = this.stripe.store.list('dispute');
    return disputes.filter(({ charge, status }) => charges.has(getId(charge)) && status === 'needs_response');
  }

  private async readAccount() {
    const [row] = await this.billing.service.sql(
      'SELECT plan_slug AS plan, balance::int AS balance FROM accounts WHERE id = $1',
      [this.account.id],
    );
    return row as { plan: string | null; balance: number };
  }

  /** Returns the credits that can be spent. */
  async countSpendable(): Promise<number> {
    const { plan, balance } = await this.readAccount();
    return plan === null ? 0 : balance;
  }

  spend(credits: number): Promise<void> {
    return seedBurn(this.billing.service, this.account, credits);
  }

  /** Closes the disputes that are open: what follows from them is decided then. */
  async closeDisputes(outcome: 'won' | 'lost'): Promise<void> {
    for (const { id } of this.listDisputes()) this.stripe.closeDispute(id, outcome);
    await this.collect();
  }

  /** Ends the subscription, so that its later years take no time in the next sequences. */
  async end(): Promise<void> {
    if (isEnded(this.stripe.store.get('subscription', this.subscriptionId))) return;
    this.stripe.cancelNow(this.subscriptionId);
    await this.deliver();
  }
}

/** Runs the jobs that workers run by the clock, and the tasks that are due. */
export async function runBillingJobs(): Promise<void> {
  await renewDueCreditPeriods();
  await runBillingMaintenance();
  await runTasks(...SUBJECT_TASK_KINDS, DELETE_ACCOUNT);
}

const applyEvent = (key: string) =>
  APPLY_PAYMENT_EVENT.run([{ id: 0, key, accountId: null, attempts: 0, createdAt: now(), lease: '' }]);

/** Applies events in this order, a few at a time. What follows from them, and what fails, is left to the tasks. */
async function applyEvents(ids: string[]): Promise<void> {
  const slots = pLimit(4);
  await Promise.allSettled(ids.map((id) => slots(() => applyEvent(id))));
  await runTasks(FOLLOW_UP, ISSUE_REFUND);
}

/** Delivers everything that is held or lost, and carries out what is owed. */
export async function drainWorlds(worlds: PaymentWorld[]): Promise<void> {
  for (let round = 0; round < 2; round += 1) {
    for (const world of worlds) await world.deliver();
    await runBillingJobs();
    if (round === 0) await reconcilePayments();
  }
  for (const world of worlds) await world.deliver();
}

function findCustomer(stripe: FakeStripe, object: object): string {
  const { customer, charge, payment_intent: intent, ...own } = object as Record<string, string | { id: string } | null>;
  if (customer != null) return getId(customer);
  if (own['object'] === 'customer') return getId(own['id']);
  const of = intent ?? stripe.store.find('charge', getId(charge as string))?.payment_intent;
  return getId(stripe.store.find('payment_intent', getId(of as string))?.customer);
}

async function* toAsync<Item>(items: Item[]): AsyncGenerator<Item> {
  yield* items;
}

function ignoreRejection(error: unknown): void {
  if (!(error instanceof ServiceError)) throw error;
}
