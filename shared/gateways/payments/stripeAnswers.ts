import Stripe from 'stripe';
import { ProcessorError } from './processor.ts';

/** What Stripe's library answers and throws, in the terms of `processor.ts`. */

/** The ids of a list, page after page. */
export async function* ids(list: AsyncIterable<{ id: string }>): AsyncIterable<string> {
  try {
    for await (const { id } of list) yield id;
  } catch (error) {
    throw asProcessorError(error);
  }
}

/** What Stripe answers, or its error in our terms. */
export async function said<Answer>(question: Promise<Answer>): Promise<Answer> {
  try {
    return await question;
  } catch (error) {
    throw asProcessorError(error);
  }
}

/** The same, but null where Stripe knows no such thing. */
export async function found<Answer>(question: Promise<Answer>): Promise<Answer | null> {
  try {
    return await question;
  } catch (error) {
    if (error instanceof Stripe.errors.StripeInvalidRequestError && error.code === 'resource_missing') return null;
    throw asProcessorError(error);
  }
}

/** An error of Stripe's library in our terms. */
export function asProcessorError(error: unknown): ProcessorError {
  const { message, statusCode } = error as Error & { statusCode?: number };
  // A key that was used for something else says nothing of what became of that; nor does a secret that is refused.
  const isUnknown =
    error instanceof Stripe.errors.StripeIdempotencyError || [401, 403, 409, 429].includes(statusCode ?? 0);
  const isRefusal =
    !isUnknown && error instanceof Stripe.errors.StripeError && statusCode !== undefined && statusCode < 500;
  return new ProcessorError(isRefusal ? 'refused' : 'away', message, { cause: error });
}
