import type { ComponentChildren } from 'preact';
import type { Context } from '../../context.ts';
import { createCsrfToken } from '../../pipeline/csrf.ts';
import { sendPage } from './layout.tsx';
import { Form } from './form.tsx';

/** Confirmation that precedes an action that cannot be undone. */
export interface Confirmation {
  /** Heading and title of the page. */
  question: string;
  /** Consequences of the action. */
  children: ComponentChildren;
  /** Label of the button that confirms. */
  button: string;
  /** Path that the button posts to. */
  action: string;
  /** Hidden fields of the form. */
  fields?: Readonly<Record<string, string>>;
  /** Page to return to without the action. Default: the account page. */
  cancelPath?: string;
  /** Label of the link that returns without the action. Default: Cancel. */
  cancelLabel?: string;
}

/** Sends a confirmation as a page of its own, which works without scripts. */
export function sendConfirmationPage(
  ctx: Context,
  { question, children, button, action, fields = {}, cancelPath = '/account/', cancelLabel = 'Cancel' }: Confirmation,
): void {
  const body = (
    <div class="card">
      <h1>{question}</h1>
      {children}
      <div class="buttons">
        <Form action={action} token={createCsrfToken(ctx)}>
          {Object.entries(fields).map(([name, value]) => (
            <input type="hidden" name={name} value={value} />
          ))}
          <button type="submit" class="main danger">
            {button}
          </button>
        </Form>
        <a class="button" href={cancelPath}>
          {cancelLabel}
        </a>
      </div>
    </div>
  );
  sendPage(ctx, { title: question, body, isNarrow: true });
}
