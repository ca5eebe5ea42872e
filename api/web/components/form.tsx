import type { ComponentChildren, VNode } from 'preact';
import { CSRF_FIELD } from '../../pipeline/csrf.ts';

/** A form that `requireOwnForm` lets through. `token` is `formToken(ctx)`. */
export function Form(props: { action: string; token: string; children: ComponentChildren; class?: string }): VNode {
  return (
    <form method="post" action={props.action} class={props.class}>
      {props.token === '' ? null : <input type="hidden" name={CSRF_FIELD} value={props.token} />}
      {props.children}
    </form>
  );
}

/**
 * The outcome of what was just done. It takes the focus, so that screen readers read it when the page has loaded: most
 * announce a live region only when it changes. The page's title must say the outcome, too.
 */
export function Notice({ kind, children }: { kind: 'good' | 'bad'; children: ComponentChildren }): VNode {
  return (
    <div class={`notice ${kind}`} role={kind === 'bad' ? 'alert' : 'status'} tabIndex={-1} autofocus>
      {children}
    </div>
  );
}
