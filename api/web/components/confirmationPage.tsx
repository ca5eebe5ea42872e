import type { ComponentChildren } from 'preact';
import type { Context } from '../../context.ts';
import { createCsrfToken } from '../../pipeline/csrf.ts';
import { sendPage } from './layout.tsx';
import { Form } from './form.tsx';

/** A question that is asked before something is done that cannot be undone. */
export interface Confirmation {
  /** Also the title of the page. */
  question: string;
  /** What happens then. */
  children: ComponentChildren;
  /** Label of the button that does it. */
  button: string;
  /** Where that button posts to. */
  action: string;
}

/** Asks whether to go on: a page, as that needs no script. */
export function sendConfirmationPage(ctx: Context, { question, children, button, action }: Confirmation): void {
  const body = (
    <div class="card">
      <h1>{question}</h1>
      {children}
      <div class="buttons">
        <Form action={action} token={createCsrfToken(ctx)}>
          <button type="submit" class="main danger">
            {button}
          </button>
        </Form>
        <a class="button" href="/account/">
          Cancel
        </a>
      </div>
    </div>
  );
  sendPage(ctx, { title: question, body, isNarrow: true });
}
