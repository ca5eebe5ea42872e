import { randomUUID } from 'node:crypto';
import { type ComponentChildren, createContext, type VNode } from 'preact';
import { useContext } from 'preact/hooks';
import { CSRF_FIELD } from '../../pipeline/csrf.ts';
import { REQUEST_FIELD } from '../../pipeline/idempotency.ts';
import { getRejectedForm, type RejectedForm } from '../rejectedForm.ts';

const FormContext = createContext<RejectedForm | undefined>(undefined);

/** CSRF token of the forms of a page, from `createCsrfToken`. Empty for a visitor without a session. */
export const CsrfToken = createContext('');

/**
 * Form with the CSRF token that `requireCsrfToken` checks. One that was not accepted because of a field shows what was
 * entered again, and the message at the field.
 */
export function Form(props: { action: string; children: ComponentChildren; class?: string }): VNode {
  const token = useContext(CsrfToken);
  return (
    <form method="post" action={props.action} class={props.class}>
      {token === '' ? null : <input type="hidden" name={CSRF_FIELD} value={token} />}
      <FormContext.Provider value={getRejectedForm(props.action)}>{props.children}</FormContext.Provider>
    </form>
  );
}

/** Hidden idempotency key of a form that `executeFormOnce` handles. */
export function RequestKey({ value = randomUUID() }: { value?: string | undefined }): VNode {
  return <input type="hidden" name={REQUEST_FIELD} value={value} />;
}

/** Id of the message at a field, to which the notice leads. */
export const FIELD_ERROR_ID = 'field-error';

/** Returns what was entered in a field if the form was not accepted because of a field, and whether it was this one. */
export function useEntered(name: string): { entered: string | undefined; isWrong: boolean } {
  const rejected = useContext(FormContext);
  return { entered: rejected?.form.get(name) ?? undefined, isWrong: rejected?.field === name };
}

/** Check box, which shows what was entered if the form was not accepted because of a field. */
export function CheckBox({ name, checked, label }: { name: string; checked: boolean; label: string }): VNode {
  const rejected = useContext(FormContext);
  return (
    <p>
      <label class="check">
        <input type="checkbox" name={name} value="on" checked={rejected?.form.has(name) ?? checked} /> {label}
      </label>
    </p>
  );
}

/** Message at the field that is the reason why the form was not accepted. */
export function FieldError({ name }: { name: string }): VNode | null {
  const rejected = useContext(FormContext);
  if (rejected?.field !== name) return null;
  return (
    <span class="error" id={FIELD_ERROR_ID} tabIndex={-1}>
      {rejected.message}
    </span>
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
