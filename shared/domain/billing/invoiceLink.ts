import { ProcessorError, processor } from '../../gateways/payments/index.ts';
import { logger } from '../../lib/logger.ts';
import { ServiceError } from '../../spec/errors.ts';
import { Invoice } from '../../tables/Invoice.ts';

/**
 * Returns the page of an invoice at the processor. Its address expires, so a current one is fetched; while the processor
 * is unavailable, the stored one is used.
 * @returns null if the invoice has no page.
 * @throws ServiceError not_found
 */
export async function getInvoiceUrl(accountId: number, uuid: string): Promise<string | null> {
  const invoice = await Invoice.query().findOne({ account_id: accountId, uuid });
  if (invoice === undefined) throw new ServiceError('not_found', 'The account has no invoice with this UUID.');
  const { stripe_invoice_id: id, hosted_invoice_url: storedUrl } = invoice;
  if (id === null) return null;
  try {
    return (await processor.readInvoiceDocument(id))?.hostedUrl ?? storedUrl;
  } catch (err) {
    if (!(err instanceof ProcessorError)) throw err;
    logger.warn({ err, invoice: uuid }, 'page of an invoice not read; using the stored address');
    return storedUrl;
  }
}
