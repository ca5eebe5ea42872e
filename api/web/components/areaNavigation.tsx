import type { VNode } from 'preact';
import { resolve } from '../../lazy.ts';
import type { NavigationEntry } from '../navigation.ts';
import { t } from '../texts.ts';
import { Brand } from './brand.tsx';
import { Form } from './form.tsx';
import { Icon } from './icon.tsx';

/** Navigation of the account area or of the staff console. */
export interface AreaNavigationProps {
  /** Accessible name of the navigation. */
  label: string;
  /** Pages in their order. */
  entries: readonly NavigationEntry[];
  /** Path of the page that is shown. */
  current: string;
  /** Address of the account that is signed in, and a note on it. */
  email: string;
  note?: string;
}

/** Id by which the button of small screens opens the navigation. */
const NAVIGATION_ID = 'navigation';

/** Links to the pages of an area: beside the page, on small screens in a drawer that the browser opens and closes. */
export function AreaNavigation({ label, entries, current, email, note }: AreaNavigationProps): VNode {
  return (
    <aside class="side" id={NAVIGATION_ID} popover="auto" aria-label={t.menu()}>
      <Brand />
      <nav aria-label={label}>
        {groupEntries(entries).map(({ group, members }) => (
          <>
            {group === undefined ? null : <p class="group">{resolve(group)}</p>}
            <ul>
              {members.map(({ path, label: text, icon }) => (
                <li>
                  <a href={path} aria-current={path === current ? 'page' : undefined}>
                    <Icon name={icon} />
                    {resolve(text)}
                  </a>
                </li>
              ))}
            </ul>
          </>
        ))}
      </nav>
      <div class="who">
        <p class="quiet small">
          {email}
          {note === undefined ? null : <span>{note}</span>}
        </p>
        <Form action="/account/sign-out/">
          <button type="submit" class="slight">
            <Icon name="signOut" />
            {t.signOut()}
          </button>
        </Form>
      </div>
    </aside>
  );
}

export function MenuButton(): VNode {
  return (
    <button type="button" class="menu slight" popovertarget={NAVIGATION_ID}>
      <Icon name="menu" />
      {t.menu()}
    </button>
  );
}

/** Splits entries where their group changes. */
function groupEntries(entries: readonly NavigationEntry[]) {
  const groups: { group: NavigationEntry['group']; members: NavigationEntry[] }[] = [];
  for (const entry of entries) {
    const last = groups.at(-1);
    if (last !== undefined && last.group === entry.group) last.members.push(entry);
    else groups.push({ group: entry.group, members: [entry] });
  }
  return groups;
}
