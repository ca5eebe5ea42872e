import type { ServiceError } from '../../../shared/spec/errors.ts';
import type { Context } from '../../context.ts';
import { createCsrfToken } from '../../pipeline/csrf.ts';
import { sendPage } from './layout.tsx';
import { Form } from './form.tsx';

/** What went wrong, as a page: a plain sentence and a way on. */
export function sendErrorPage(ctx: Context, { code, message }: ServiceError, status: number): void {
  const isForOthers = code === 'admin_required';
  const title = isForOthers ? 'Not for this account' : getErrorTitle(status);
  const body = (
    <div class="card">
      <h1>{title}</h1>
      <p>{message}</p>
      {isForOthers ? (
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

/** For who has the service open by an address that it is not meant to be opened at, where no form can be taken. */
export function sendWrongAddressPage(ctx: Context, address: string): void {
  const title = 'Not at this address';
  const body = (
    <div class="card">
      <h1>{title}</h1>
      <p>
        Open this service at <a href={address}>{address}</a>.
      </p>
      <p class="quiet">This form was not sent from the page that it belongs to, and nothing was changed.</p>
    </div>
  );
  sendPage(ctx, { title, body, isNarrow: true }, 403);
}

function getErrorTitle(status: number): string {
  return ERROR_TITLES[status] ?? (status >= 500 ? 'Something failed' : 'That did not work');
}

const ERROR_TITLES: Record<number, string> = {
  404: 'There is nothing here',
  429: 'Too many requests',
  503: 'Out of reach for the moment',
};
