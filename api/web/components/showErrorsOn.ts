import type { ComponentChildren } from 'preact';
import { ServiceError } from '../../../shared/spec/errors.ts';
import type { Context } from '../../context.ts';
import { getErrorStatus } from '../../pipeline/httpError.ts';
import { withRejectedForm } from '../rejectedForm.ts';
import { describeError } from './errorPage.tsx';

type RenderProblem = (ctx: Context, flash: { problem: ComponentChildren }, status: number) => Promise<void>;
export type PageHandler = (ctx: Context) => Promise<void>;
export type ErrorWrapper = (handler: PageHandler) => PageHandler;

/**
 * Returns a wrapper for the handlers of a page's forms: a service error is shown on that page. One about the session is
 * not, since the page is for signed-in customers.
 * @param fallback wrapper that shows the error on another page if this one cannot be shown, as of a key that does not
 *   exist.
 */
export function showErrorsOn(render: RenderProblem, fallback?: ErrorWrapper): ErrorWrapper {
  if (fallback !== undefined) return (handler) => fallback(showErrorsOn(render)(handler));
  return (handler) => async (ctx) => {
    try {
      await handler(ctx);
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code === 'invalid_api_key') throw error;
      const problem = describeError(error.code, toUserMessage(error));
      const rejection = { path: ctx.path, form: ctx.state.form, field: error.field, message: problem };
      await withRejectedForm(rejection, () => render(ctx, { problem }, getErrorStatus(error)));
    }
  };
}

/** Rewrites a detail for people: drops a leading `field: `, and writes the name of a field as words. */
function toUserMessage({ message, field = '' }: ServiceError): string {
  if (!message.startsWith(field)) return message;
  const rest = message.slice(field.length);
  const name = field === 'url' ? 'URL' : field.replaceAll('_', ' ');
  const sentence = rest.startsWith(': ') ? rest.slice(2) : name + rest;
  return sentence.charAt(0).toUpperCase() + sentence.slice(1);
}
