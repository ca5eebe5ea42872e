import type { ComponentChildren, VNode } from 'preact';
import { CSRF_FIELD } from '../../pipeline/csrf.ts';

/** Form with the CSRF token that `requireCsrfToken` checks. `token` comes from `createCsrfToken(ctx)`. */
export function Form(props: { action: string; token: string; children: ComponentChildren; class?: string }): VNode {
  return (
    <form method="post" action={props.action} class={props.class}>
      {props.token === '' ? null : <input type="hidden" name={CSRF_FIELD} value={props.token} />}
      {props.children}
    </form>
  );
}

/**
 * Outcome of the last action. It takes the focus, so that screen readers read it when the page has loaded: most
 * announce a live region only when it changes. The title of the page must contain the outcome, too.
 */
export function Notice({ kind, children }: { kind: 'good' | 'bad'; children: ComponentChildren }): VNode {
  return (
    <div class={`notice ${kind}`} role={kind === 'bad' ? 'alert' : 'status'} tabIndex={-1} autofocus>
      {children}
    </div>
  );
}
