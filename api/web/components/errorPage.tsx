import type { ComponentChildren } from 'preact';
import type { ErrorCode, ServiceError } from '../../../shared/spec/errors.ts';
import type { Context } from '../../context.ts';
import { ERROR_SENTENCES, t } from '../errorTexts.ts';
import { sendPage } from './layout.tsx';
import { Form } from './form.tsx';

/** Sends an error as a page: a title, one plain sentence and a link to the account. */
export function sendErrorPage(ctx: Context, { code, message }: ServiceError, status: number): void {
  const isWrongAccount = code === 'admin_required';
  const title = getErrorTitle(code, status);
  const body = (
    <div class="card">
      <h1>{title}</h1>
      <p>{describeError(code, message)}</p>
      {isWrongAccount ? (
        <Form action="/account/sign-out/">
          <button type="submit">{t.anotherAccount()}</button>
        </Form>
      ) : null}
      <p>
        <a href="/account/">{t.goToAccount()}</a>
      </p>
    </div>
  );
  sendPage(ctx, { title, body, isNarrow: true }, status);
}

/** Describes an error in the language of the page, with its English detail. */
export function describeError(code: ErrorCode, detail: string): ComponentChildren {
  const sentence = ERROR_SENTENCES[code]();
  if (sentence === '') return detail;
  return (
    <>
      {sentence} <span lang="en">{detail}</span>
    </>
  );
}

/**
 * Sends visitors who opened the service at another host name to the configured address. Their forms are rejected,
 * because the origin does not match.
 */
export function sendWrongAddressPage(ctx: Context, address: string): void {
  const title = t.wrongAddress();
  const body = (
    <div class="card">
      <h1>{title}</h1>
      <p>{t.openAt({ address, link: address })}</p>
      <p class="quiet">{t.nothingChanged()}</p>
    </div>
  );
  sendPage(ctx, { title, body, isNarrow: true }, 403);
}

function getErrorTitle(code: ErrorCode, status: number): string {
  if (code === 'admin_required' || code === 'insufficient_scope') return t.accessDenied();
  if (code === 'account_suspended') return t.accountSuspended();
  if (status === 404) return t.pageNotFound();
  if (status === 429) return t.tooManyRequests();
  if (status === 503) return t.temporarilyUnavailable();
  return status >= 500 ? t.somethingWrong() : t.requestFailed();
}
