import type { ComponentChildren, VNode } from 'preact';
import type { Context } from '../../context.ts';
import { t } from '../texts.ts';
import { sendPage } from './layout.tsx';

/** Pages that are open to all, in the order of their links. */
const FRONT_LINKS = [
  ['/models/', t.models],
  ['/pricing/', t.pricing],
  ['/docs/', t.guides],
  ['/api/docs/', t.apiReference],
] as const;

interface FrontPage {
  title: string;
  /** Path of the page. */
  current: string;
  children: ComponentChildren;
}

/** Sends a page that is open to all. */
export function sendFrontPage(ctx: Context, { title, current, children }: FrontPage): void {
  const links = <FrontLinks current={current} isSignedIn={ctx.state.caller !== undefined} />;
  sendPage(ctx, { title, body: children, topLinks: links });
}

function FrontLinks({ current, isSignedIn }: { current: string; isSignedIn: boolean }): VNode {
  return (
    <nav aria-label={t.site()}>
      {FRONT_LINKS.map(([path, label]) => (
        <a href={path} aria-current={path === current ? 'page' : undefined}>
          {label()}
        </a>
      ))}
      <a class="button main" href="/account/">
        {isSignedIn ? t.yourAccount() : t.signIn()}
      </a>
    </nav>
  );
}
