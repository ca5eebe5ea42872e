import type Stripe from 'stripe';
import { type CheckoutOptions, completeSession, settleAsyncPayment, verifyAccount } from './checkout.ts';
import { type Onboarding, reverseTransfer, setOnboardingState } from './connect.ts';
import { addPaymentMethod, detachPaymentMethod, listPaymentMethods } from './customers.ts';
import { FakeStripeServer } from './fakeStripeServer.ts';
import type { FakeStripeEvent } from './events.ts';
import { findOrCreateInvoiceIntent } from './invoices.ts';
import { payOpenInvoice } from './oneOffInvoices.ts';
import { creditOutOfBand, creditWithRefund, payInvoiceOutOfBand } from './outOfBand.ts';
import { applyPlanSwitch, failUpgrade, type SwitchOutcome } from './planSwitch.ts';
import { findCheckoutSession, findCustomerId, findSubscription } from './references.ts';
import {
  closeDispute,
  createRefund,
  type DisputeOptions,
  escalateDispute,
  failRefund,
  openDispute,
  submitEvidence,
} from './reversals.ts';
import { type CardBehavior, getId } from './store.ts';
import { cancelAtPeriodEnd, endSubscription, getItem, pauseCollection, resumeSubscription } from './subscriptions.ts';
import { type StripeSummary, summarizeStore } from './summary.ts';
import {
  type AfterFailedRetries,
  advanceClock,
  DRAFT_SECONDS,
  processDueEvents,
  retryCollection,
} from './testClock.ts';

/**
 * A fake of the parts of Stripe that the service uses, over real HTTP. Its methods are actions of customers, operators,
 * affiliates and banks. A reference to a customer is the id of the customer, of a subscription or of a page, or the
 * account's uuid.
 */
export class FakeStripe extends FakeStripeServer {
  summarize(): StripeSummary {
    return summarizeStore(this.store, this.prices);
  }

  /** Pays on a checkout page. @param page its id or URL, or a reference to the customer for their latest open page. */
  completeCheckout(page: string, options: CheckoutOptions = {}): Stripe.Checkout.Session {
    const session = findCheckoutSession(this.store, page);
    completeSession(this.store, session, options);
    return structuredClone(session);
  }

  /** Reopens a page that was closed. @param page its URL. */
  reopenCheckout(page: string): void {
    const session = this.store.get('checkout.session', page.split('/').at(-1));
    Object.assign(session, { status: 'open', url: page });
  }

  /** Verifies the bank account of a checkout that was completed with `unverified`. */
  verifyAccount(page: string): void {
    verifyAccount(this.store, findCheckoutSession(this.store, page));
  }

  /** Sets the outcome of a checkout that was completed with `async`, or whose account was verified. */
  settlePayment(page: string, outcome: 'succeeded' | 'failed'): void {
    settleAsyncPayment(this.store, findCheckoutSession(this.store, page), outcome);
  }

  /** Confirms the plan change that a portal page was opened for. @param page its id or URL. */
  confirmPlanSwitch(page: string): SwitchOutcome {
    return applyPlanSwitch(this.store, this.store.get('billing_portal.session', /bps_\w+/.exec(page)?.[0]));
  }

  /**
   * Cancels at the end of the period. @param as how the portal records it: a flag, or for newer subscriptions a date.
   */
  cancelAtPeriodEnd(reference: string, as: 'flag' | 'date' = 'flag'): void {
    cancelAtPeriodEnd(this.store, this.findSubscription(reference), as);
  }

  resume(reference: string): void {
    resumeSubscription(this.store, this.findSubscription(reference));
  }

  cancelNow(reference: string): void {
    endSubscription(this.store, this.findSubscription(reference), 'cancellation_requested');
  }

  /** Moves its clock. Renewals, retries, ends and expiries that become due are processed. */
  advanceTo(date: Date): void {
    advanceClock(this.store, date, this);
  }

  /** Processes what is due at its present time, such as a renewal. */
  processDue(): void {
    processDueEvents(this.store, this.store.now(), this);
  }

  /** Moves its clock while requests are in progress. Idempotency keys of the last minute do not expire. */
  jumpTo(date: Date): void {
    this.advanceTo(date);
    this.apiServer.keys.extendRecent(this.store.now());
  }

  /** Deletes the saved 5xx responses that it would repeat for a day. */
  deleteSavedErrors(): void {
    this.apiServer.keys.deleteErrors();
  }

  /** Moves its clock past a renewal that the card declines. */
  failRenewal(reference: string): void {
    const subscription = this.findSubscription(reference);
    const before = this.failRenewals;
    this.failRenewals = true;
    try {
      this.advanceTo(new Date(1_000 * (getItem(subscription).current_period_end + DRAFT_SECONDS)));
    } finally {
      this.failRenewals = before;
    }
  }

  /** Pays the invoice that could not be collected. */
  payFailedInvoice(reference: string): void {
    const { latest_invoice } = this.findSubscription(reference);
    const invoice = this.store.get('invoice', getId(latest_invoice));
    retryCollection(this.store, invoice, this, 'ok');
  }

  /** Marks the invoice that could not be collected as paid outside of Stripe. */
  payOutOfBand(reference: string): void {
    const invoice = this.store.get('invoice', getId(this.findSubscription(reference).latest_invoice));
    payInvoiceOutOfBand(this.store, invoice, findOrCreateInvoiceIntent(this.store, invoice));
  }

  /** Makes the next renewals of a subscription stay drafts, as their tax needs an address. */
  leaveDraft(reference: string): void {
    this.store.taxAddressMissing.add(this.findSubscription(reference).id);
  }

  /** Finalizes and collects the latest invoice, which stayed a draft: the operator has removed the cause. */
  collectDraft(reference: string): void {
    const { id, latest_invoice } = this.findSubscription(reference);
    this.store.taxAddressMissing.delete(id);
    retryCollection(this.store, this.store.get('invoice', getId(latest_invoice)), this);
  }

  /** Pauses the collection of a subscription's invoices, as the dashboard can. @param behavior null resumes it. */
  pauseCollection(
    reference: string,
    behavior: Stripe.Subscription.PauseCollection.Behavior | null = 'keep_as_draft',
  ): void {
    pauseCollection(this.store, this.findSubscription(reference), behavior);
  }

  /**
   * Changes to another plan outside of the portal, with a card that is declined: the invoice of the change stays open.
   * @param afterRetries the status after all attempts; without it the subscription is past due, and they follow.
   */
  failUpgrade(reference: string, afterRetries?: AfterFailedRetries, plan = 'studio'): Stripe.Invoice {
    const price = this.store.get('price', this.prices[plan]);
    return failUpgrade(this.store, this.findSubscription(reference), price, afterRetries);
  }

  /** Sends an event with any type and object, signed, as Stripe sends it to a webhook of another API version. */
  sendEvent(type: string, object: { id: string }, apiVersion?: string): FakeStripeEvent {
    return this.send(type, object, { apiVersion });
  }

  /** Records a refund outside of Stripe as a credit note. */
  creditOutOfBand(invoiceId: string, amountCents: number): Stripe.CreditNote {
    return creditOutOfBand(this.store, this.store.get('invoice', invoiceId), amountCents);
  }

  /** Refunds a part of an invoice with a credit note. */
  creditWithRefund(invoiceId: string, amountCents: number): Stripe.CreditNote {
    return creditWithRefund(this.store, this.store.get('invoice', invoiceId), amountCents);
  }

  /** Pays an open invoice on its page. */
  payOpenInvoice(invoiceId: string): void {
    payOpenInvoice(this.store, this.store.get('invoice', invoiceId));
  }

  /** Creates the invoices that were delayed. */
  issueDelayedInvoices(): void {
    for (const issue of this.store.delayedInvoices.splice(0)) issue();
  }

  /** Returns the invoice of a top-up that is not void. */
  findTopupInvoice(topupUuid: string): Stripe.Invoice | undefined {
    return this.store
      .list('invoice')
      .find(({ metadata, status }) => metadata?.['topup_uuid'] === topupUuid && status !== 'void');
  }

  /** Disconnects a connected account, as its owner can. */
  disconnect(accountId: string): void {
    this.store.disconnectedAccounts.add(accountId);
  }

  /** @param reference the payment, charge or invoice. @param amountCents default: the remaining amount. */
  refund(reference: string, amountCents?: number): Stripe.Refund {
    return createRefund(this.store, reference, amountCents);
  }

  failRefund(refundId: string): Stripe.Refund {
    return failRefund(this.store, refundId);
  }

  /** Turns an inquiry into a chargeback. */
  escalateDispute(disputeId: string): Stripe.Dispute {
    return escalateDispute(this.store, disputeId);
  }

  /** Submits the evidence for a dispute or an inquiry. */
  submitEvidence(disputeId: string): Stripe.Dispute {
    return submitEvidence(this.store, disputeId);
  }

  /** @param reference the payment, charge or invoice. */
  openDispute(reference: string, options?: DisputeOptions): Stripe.Dispute {
    return openDispute(this.store, reference, options);
  }

  /** @param reference the dispute, or the disputed payment, charge or invoice. */
  closeDispute(reference: string, outcome: 'won' | 'lost'): Stripe.Dispute {
    return closeDispute(this.store, reference, outcome);
  }

  /** Changes the onboarding state of a connected account. @param link its id, or the URL of its onboarding page. */
  onboard(link: string, state: Onboarding = 'enabled'): void {
    setOnboardingState(this.store, this.store.get('account', /acct_[0-9a-f]+/.exec(link)?.[0]), state);
  }

  /** Reverses a transfer by hand. @param amountCents default: all of it. */
  reverseTransfer(transferId: string, amountCents?: number): void {
    reverseTransfer(this.store, this.store.get('transfer', transferId), amountCents);
  }

  /** Sets the behavior of all cards of a customer, who gets a card if they have none. */
  setCard(reference: string, card: CardBehavior): void {
    const customerId = this.findCustomerId(reference);
    const methods = listPaymentMethods(this.store, customerId);
    if (methods.length === 0) addPaymentMethod(this.store, customerId, card);
    for (const { id } of methods) this.store.cards.set(id, card);
  }

  /** Removes all cards of a customer. */
  removePaymentMethod(reference: string): void {
    for (const method of listPaymentMethods(this.store, this.findCustomerId(reference)))
      detachPaymentMethod(this.store, method);
  }

  /** Deletes a customer. */
  deleteCustomer(customerId: string): void {
    this.store.remove(customerId);
    this.store.deletedCustomers.add(customerId);
  }

  /** Returns the id of a customer. */
  findCustomerId(reference: string): string {
    return findCustomerId(this.store, reference);
  }

  /** Returns a subscription, or the newest one of a customer. */
  findSubscription(reference: string): Stripe.Subscription {
    return findSubscription(this.store, reference);
  }
}
