import type { VNode } from 'preact';
import { Form } from './form.tsx';

/** Navigation of the account area or of the staff console. */
export interface AreaNavigationProps {
  /** Accessible name of the navigation. */
  label: string;
  /** Pages in their order. */
  entries: readonly { path: string; label: string }[];
  /** Path of the page that is shown. */
  current: string;
  /** Text below the links. */
  note?: string;
  /** From `createCsrfToken(ctx)`. */
  csrfToken: string;
}

/** Links to the pages of an area. */
export function AreaNavigation(props: AreaNavigationProps & { width?: string | undefined }): VNode {
  const { label, entries, current, note, width } = props;
  return (
    <nav class={width === undefined ? 'tabs' : `tabs ${width}`} aria-label={label}>
      <ul>
        {entries.map(({ path, label: text }) => (
          <li>
            <a href={path} aria-current={path === current ? 'page' : undefined}>
              {text}
            </a>
          </li>
        ))}
      </ul>
      {note === undefined ? null : <p class="quiet small">{note}</p>}
    </nav>
  );
}

export function SignOutForm({ csrfToken }: Pick<AreaNavigationProps, 'csrfToken'>): VNode {
  return (
    <Form action="/account/sign-out/" token={csrfToken}>
      <button type="submit" class="slight">
        Sign out
      </button>
    </Form>
  );
}
