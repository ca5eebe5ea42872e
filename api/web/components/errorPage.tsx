import type { ErrorCode, ServiceError } from '../../../shared/spec/errors.ts';
import type { Context } from '../../context.ts';
import { createCsrfToken } from '../../pipeline/csrf.ts';
import { sendPage } from './layout.tsx';
import { Form } from './form.tsx';

/** Sends an error as a page: a title, one plain sentence and a link to the account. */
export function sendErrorPage(ctx: Context, { code, message }: ServiceError, status: number): void {
  const isWrongAccount = code === 'admin_required';
  const title = ERROR_TITLES_BY_CODE[code] ?? getErrorTitle(status);
  const body = (
    <div class="card">
      <h1>{title}</h1>
      <p>{message}</p>
      {isWrongAccount ? (
        <Form action="/account/sign-out/" token={createCsrfToken(ctx)}>
          <button type="submit">Sign in with another account</button>
        </Form>
      ) : null}
      <p>
        <a href="/account/">Go to your account</a>
      </p>
    </div>
  );
  sendPage(ctx, { title, body, isNarrow: true }, status);
}

/**
 * Sends visitors who opened the service at another host name to the configured address. Their forms are rejected,
 * because the origin does not match.
 */
export function sendWrongAddressPage(ctx: Context, address: string): void {
  const title = 'Wrong address';
  const body = (
    <div class="card">
      <h1>{title}</h1>
      <p>
        Open this service at <a href={address}>{address}</a>.
      </p>
      <p class="quiet">This form was not sent from the page that it belongs to. Nothing was changed.</p>
    </div>
  );
  sendPage(ctx, { title, body, isNarrow: true }, 403);
}

function getErrorTitle(status: number): string {
  return ERROR_TITLES[status] ?? (status >= 500 ? 'Something went wrong' : 'Request failed');
}

const ERROR_TITLES_BY_CODE: Partial<Record<ErrorCode, string>> = {
  admin_required: 'Access denied',
  account_suspended: 'Account suspended',
};

const ERROR_TITLES: Record<number, string> = {
  404: 'Page not found',
  429: 'Too many requests',
  503: 'Temporarily unavailable',
};
