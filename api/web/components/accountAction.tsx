import type { ComponentChildren, VNode } from 'preact';
import type { Caller } from '../../../shared/domain/accounts/caller.ts';
import { requireCaller, type Context } from '../../context.ts';
import { seeOther } from '../../pipeline/redirect.ts';
import type { ActionPages } from '../../pipeline/route.ts';
import { t } from '../texts.ts';
import { Form, RequestKey } from './form.tsx';
import { sendPage } from './layout.tsx';
import type { ErrorWrapper } from './showErrorsOn.ts';

/** Confirmation that precedes an action. */
export interface Confirmation {
  /** Heading and title of the page. */
  question: string;
  consequences: ComponentChildren;
  /** Label of the button that confirms. */
  button: string;
  /** True if the action takes nothing away, so that its button is not red. */
  isHarmless?: boolean;
  /** Page to return to without the action, and with an action of staff. */
  returnPath: string;
  /** Label of the link that returns without the action. Default: Cancel. */
  cancelLabel?: string;
}

/** An action that the owner of an account confirms on a page of its own, which works without scripts. */
interface AccountAction {
  /** Shows errors on the page that the action belongs to. */
  withErrors: ErrorWrapper;
  /** Describes the action. @returns the address of another page if there is nothing to confirm. */
  describe: (ctx: Context, caller: Caller) => Promise<Confirmation | string> | Confirmation;
  /** Performs the action. @returns the address of the next page; undefined if it has sent a page. */
  perform: (ctx: Context, caller: Caller) => Promise<string | undefined>;
}

/** Returns the pages of an action. */
export function defineAccountAction(action: AccountAction): ActionPages {
  return {
    confirm: action.withErrors(async (ctx) => {
      const confirmation = await action.describe(ctx, requireCaller(ctx));
      if (typeof confirmation === 'string') seeOther(ctx, confirmation);
      else sendConfirmationPage(ctx, confirmation);
    }),
    submit: action.withErrors(async (ctx) => {
      const path = await action.perform(ctx, requireCaller(ctx));
      if (path !== undefined) seeOther(ctx, path);
    }),
  };
}

function sendConfirmationPage(ctx: Context, confirmation: Confirmation): void {
  const { question, consequences } = confirmation;
  const body = (
    <div class="card">
      <h1>{question}</h1>
      {consequences}
      <ConfirmationForm ctx={ctx} {...confirmation} />
    </div>
  );
  sendPage(ctx, { title: question, body, isNarrow: true });
}

interface ConfirmationFormProps extends Pick<Confirmation, 'button' | 'isHarmless' | 'returnPath' | 'cancelLabel'> {
  ctx: Context;
  /** Value of the field `step` that the button sends, of a form that is not the last one. */
  step?: string | undefined;
  /** Idempotency key of an action that must not be repeated. A form that was not accepted keeps it. */
  request?: string | undefined;
  /** Fields of the form. */
  children?: ComponentChildren;
}

export function ConfirmationForm(props: ConfirmationFormProps): VNode {
  const { ctx, step, request, children, button, returnPath, cancelLabel = t.cancel() } = props;
  const tone = props.isHarmless === true ? 'main' : 'main danger';
  return (
    <Form action={ctx.path.replace(/\/?$/, '/')} class="apart">
      <RequestKey value={request} />
      {children}
      <div class="buttons">
        <button type="submit" class={tone} name={step === undefined ? undefined : 'step'} value={step}>
          {button}
        </button>
        <a class="button" href={returnPath}>
          {cancelLabel}
        </a>
      </div>
    </Form>
  );
}
