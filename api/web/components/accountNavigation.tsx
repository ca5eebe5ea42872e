import type { VNode } from 'preact';
import { type AccountEntry, listAccountEntries } from '../navigation.ts';
import { Form } from './form.tsx';

export type AccountPagePath = AccountEntry['path'];

export interface AccountNavigationProps {
  current: AccountPagePath;
  /** From `createCsrfToken(ctx)`. */
  csrfToken: string;
}

/** Links to the pages of the account area. */
export function AccountNavigation(props: AccountNavigationProps & { width?: string | undefined }): VNode {
  const { current, width } = props;
  return (
    <nav class={width === undefined ? 'tabs' : `tabs ${width}`} aria-label="Account">
      <ul>
        {listAccountEntries().map(({ path, label }) => (
          <li>
            <a href={path} aria-current={path === current ? 'page' : undefined}>
              {label}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  );
}

export function SignOutForm({ csrfToken }: Pick<AccountNavigationProps, 'csrfToken'>): VNode {
  return (
    <Form action="/account/sign-out/" token={csrfToken}>
      <button type="submit" class="slight">
        Sign out
      </button>
    </Form>
  );
}
