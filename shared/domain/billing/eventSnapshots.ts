import type { Transaction } from 'objection';
import { processor } from '../../gateways/payments/index.ts';
import { logger } from '../../lib/logger.ts';
import { Account } from '../../tables/Account.ts';
import type { PaymentEvent } from '../../tables/PaymentEvent.ts';
import { Topup } from '../../tables/Topup.ts';
import { applyCommission, type CommissionSnapshot, fetchCommission } from '../affiliates/commissions.ts';
import { applyPayoutAccount, fetchPayoutAccount, type PayoutAccountSnapshot } from '../affiliates/payoutAccounts.ts';
import { applyPayoutReversal, fetchPayoutReversal, type PayoutReversalSnapshot } from '../affiliates/payouts.ts';
import { type AccountSnapshot, nextSyncVersion, type UnresolvedSnapshot } from '../payments/accountSnapshot.ts';
import { applyMissingSubscription, applySubscriptionSnapshot } from './applySubscription.ts';
import { applyTopupInvoice, type InvoiceSnapshot } from './invoices.ts';
import { markRefundFailed } from './invoiceRefunds.ts';
import { recordSubscriptionChange } from './recordSubscriptionChange.ts';
import { fetchSubscription, type MissingSubscriptionSnapshot, type SubscriptionSnapshot } from './fetchSubscription.ts';
import { applyTopupSnapshot, buildFailedTopup, findTopupSnapshot, type TopupSnapshot } from './topupPayments.ts';
import { findInvoiceSnapshot } from './topupInvoices.ts';
import { markTopupRefundFailed } from './topupRefunds.ts';

/** The payment method state of a customer. */
interface PaymentMethodSnapshot extends AccountSnapshot {
  kind: 'paymentMethod';
  customerId: string;
  hasPaymentMethod: boolean;
}

/** A part of what an event concerns. All parts of one event belong to the same account. */
export type EventSnapshot =
  | SubscriptionSnapshot
  | MissingSubscriptionSnapshot
  | TopupSnapshot
  | PaymentMethodSnapshot
  | CommissionSnapshot
  | InvoiceSnapshot
  | PayoutAccountSnapshot
  | PayoutReversalSnapshot
  | UnresolvedSnapshot;

/**
 * Reads the objects that an event concerns. Only the object's id is taken from the event, as its contents may be out of
 * date.
 * @returns an empty list if the event does not concern an account of this service.
 */
export async function fetchEventSnapshots(event: PaymentEvent): Promise<EventSnapshot[]> {
  const parts = await fetchEventParts(event);
  return parts.filter((part) => part !== null);
}

async function fetchEventParts({ type, object_id: id }: PaymentEvent): Promise<(EventSnapshot | null)[]> {
  if (type.startsWith('customer.subscription.')) return [await fetchSubscription(id)];
  if (type === 'customer.updated' || type.startsWith('payment_method.')) return [await fetchPaymentMethod(id)];
  if (type.startsWith('invoice.')) return fetchInvoiceParts(id);
  if (type.startsWith('payment_intent.')) return [await fetchTopupPayment(id)];
  if (type.startsWith('checkout.session.')) return [await fetchCheckoutSession(id)];
  if (type === 'charge.refunded') return fetchChargeParts(id);
  if (type.startsWith('refund.')) return fetchRefundParts(id);
  if (type.startsWith('charge.dispute.')) return fetchChargeParts(await processor.findDisputedCharge(id));
  if (type.startsWith('credit_note.')) return fetchCreditNoteParts(id);
  if (type === 'account.updated') return [await fetchPayoutAccount(id)];
  if (type === 'transfer.reversed') return [await fetchPayoutReversal(id)];
  return [];
}

/**
 * Applies the parts of an event under the account's lock. No part reads a column of the account that an earlier one
 * writes.
 */
export function applyEventSnapshots(
  transaction: Transaction,
  account: Account,
  snapshots: EventSnapshot[],
): Promise<void> {
  return recordSubscriptionChange(transaction, account, () => applySnapshots(transaction, account, snapshots));
}

async function applySnapshots(transaction: Transaction, account: Account, snapshots: EventSnapshot[]): Promise<void> {
  for (const snapshot of snapshots) {
    if (snapshot.kind === 'subscription') await applySubscriptionSnapshot(transaction, account, snapshot);
    else if (snapshot.kind === 'missingSubscription') await applyMissingSubscription(transaction, account, snapshot);
    else if (snapshot.kind === 'topup') await applyTopupSnapshot(transaction, account, snapshot);
    else if (snapshot.kind === 'invoice') await applyTopupInvoice(transaction, account, snapshot);
    else if (snapshot.kind === 'paymentMethod') await applyPaymentMethod(transaction, account, snapshot);
    else if (snapshot.kind === 'commission') await applyCommission(transaction, snapshot);
    else if (snapshot.kind === 'payoutAccount') await applyPayoutAccount(transaction, snapshot);
    else if (snapshot.kind === 'payoutReversal') await applyPayoutReversal(transaction, snapshot);
  }
}

/** Reads an invoice's subscription and the commission that the invoice earns, or its top-up. */
async function fetchInvoiceParts(invoiceId: string): Promise<(EventSnapshot | null)[]> {
  const subscriptionId = await processor.findInvoiceSubscription(invoiceId);
  if (subscriptionId === null) return fetchTopupInvoiceParts(invoiceId);
  return [await fetchSubscription(subscriptionId), await fetchCommission(invoiceId)];
}

/** Reads the payment of a top-up's invoice first: its event may not have arrived, and credits come before the invoice. */
async function fetchTopupInvoiceParts(invoiceId: string): Promise<(EventSnapshot | null)[]> {
  const syncVersion = await nextSyncVersion();
  const invoice = await processor.readTopupInvoice(invoiceId);
  if (invoice === null) return [];
  const payment = invoice.intentId === null ? null : await fetchTopupPayment(invoice.intentId);
  return [payment, await findInvoiceSnapshot(invoice, syncVersion)];
}

/** Reads a customer whose payment methods have changed. */
async function fetchPaymentMethod(customerId: string): Promise<PaymentMethodSnapshot | null> {
  const account = await Account.query().findOne({ stripe_customer_id: customerId });
  if (account === undefined) return null;
  const hasPaymentMethod = (await processor.findPaymentMethod(customerId)) !== null;
  return { kind: 'paymentMethod', accountId: account.id, problem: null, customerId, hasPaymentMethod };
}

async function applyPaymentMethod(
  transaction: Transaction,
  account: Account,
  { customerId, hasPaymentMethod }: PaymentMethodSnapshot,
): Promise<void> {
  // The customer may have been replaced in the meantime.
  if (account.stripe_customer_id !== customerId) return;
  await account.$query(transaction).patch({ has_payment_method: hasPaymentMethod });
}

/** Reads the invoice of a credit note, which may record a refund outside of the processor. */
async function fetchCreditNoteParts(creditNoteId: string): Promise<(EventSnapshot | null)[]> {
  const invoiceId = await processor.findCreditedInvoice(creditNoteId);
  return invoiceId === null ? [] : fetchInvoiceParts(invoiceId);
}

/** Reads a payment, if it is for a top-up. */
export async function fetchTopupPayment(intentId: string): Promise<TopupSnapshot | null> {
  const syncVersion = await nextSyncVersion();
  return findTopupSnapshot(await processor.readPayment(intentId), syncVersion);
}

async function fetchCheckoutSession(sessionId: string): Promise<EventSnapshot | null> {
  const session = await processor.readCheckoutSession(sessionId);
  if (session?.intentId != null) return fetchTopupPayment(session.intentId);
  if (session?.isFree === true && session.subscriptionId === null) return fetchFreeTopup(sessionId);
  return session?.subscriptionId == null ? null : fetchSubscription(session.subscriptionId);
}

/** Returns the snapshot of a top-up whose page was completed without a payment, which buys no credits. */
async function fetchFreeTopup(sessionId: string): Promise<TopupSnapshot | null> {
  const topup = await Topup.query().findOne({ stripe_session_id: sessionId });
  return topup === undefined ? null : buildFailedTopup(topup, 'nothing_paid', await nextSyncVersion());
}

/** Reads what a refunded or disputed charge paid for: a top-up, or a subscription and its commission. */
async function fetchChargeParts(chargeId: string | null): Promise<(EventSnapshot | null)[]> {
  const syncVersion = await nextSyncVersion();
  if (chargeId === null) return [];
  const charge = await processor.readCharge(chargeId);
  if (charge === null) return [];
  if (!('subscriptionId' in charge)) return [await findTopupSnapshot(charge, syncVersion)];
  return [await fetchSubscription(charge.subscriptionId), await fetchCommission(charge.invoiceId)];
}

/** Reads the charge of a refund. A refund that failed returns credits and commissions; staff pay the customer back. */
async function fetchRefundParts(refundId: string): Promise<(EventSnapshot | null)[]> {
  const refund = await processor.readRefund(refundId);
  if (refund === null) return [];
  const { chargeId, isFailed, isChargeRefunded } = refund;
  if (isFailed) {
    logger.error({ refundId, chargeId }, 'refund failed at the bank; pay the customer back by hand');
    const charge = chargeId === null ? null : await processor.readCharge(chargeId);
    // Another refund may have returned the charge before the event of the failed one arrived.
    if (charge !== null && !isChargeRefunded) {
      if ('invoiceId' in charge) await markRefundFailed(charge.invoiceId);
      else if (charge.topupUuid !== null) await markTopupRefundFailed(charge.topupUuid);
    }
  }
  return fetchChargeParts(chargeId);
}
