import type { VNode } from 'preact';
import { Form } from './form.tsx';

/** Pages of the account area, in the order of its navigation. */
const ACCOUNT_PAGES = [
  ['/account/', 'Overview'],
  ['/account/library/', 'Library'],
  ['/account/usage/', 'Usage'],
  ['/account/ledger/', 'Ledger'],
  ['/account/billing/', 'Billing'],
  ['/account/keys/', 'API keys'],
  ['/account/webhooks/', 'Webhooks'],
  ['/account/connect/', 'Connect'],
  ['/account/applications/', 'Applications'],
  ['/account/affiliate/', 'Affiliate'],
  ['/account/settings/', 'Settings'],
] as const;

export type AccountPagePath = (typeof ACCOUNT_PAGES)[number][0];

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
        {ACCOUNT_PAGES.map(([path, label]) => (
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
