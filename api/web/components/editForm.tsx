import type { ComponentChildren, VNode } from 'preact';
import type { Context } from '../../context.ts';
import { t as shared } from '../texts.ts';
import type { PageProblem } from './areaPage.tsx';
import { Form, useEntered } from './form.tsx';

const FORMER_FIELD = 'former';

/**
 * The state that a page shows as the one in force, so that a change in between is noticed. A form that shows what was
 * entered keeps the state that it was sent with.
 */
export function FormerState({ value }: { value: string }): VNode {
  const { entered = value } = useEntered(FORMER_FIELD);
  return <input type="hidden" name={FORMER_FIELD} value={entered} />;
}

/** Returns the state that the page showed. Undefined if the form does not say. */
export function readFormerState(form: URLSearchParams): string | undefined {
  return form.get(FORMER_FIELD) ?? undefined;
}

/** Returns what was entered, to show it again. Undefined after another change, as the rest may be outdated, too. */
export function findEntered(ctx: Context, { problem }: PageProblem, former: string): URLSearchParams | undefined {
  const { form } = ctx.state;
  const isKept = problem !== undefined && form !== undefined && [former, undefined].includes(readFormerState(form));
  return isKept ? form : undefined;
}

interface EditFormProps {
  action: string;
  former: string;
  /** Path of the link beside the button. */
  back: string;
  backText?: string;
  children: ComponentChildren;
}

/** The form of a page for the settings of one thing. */
export function EditForm({ action, former, back, backText = shared.cancel(), children }: EditFormProps): VNode {
  return (
    <Form action={action}>
      <FormerState value={former} />
      {children}
      <div class="buttons">
        <button type="submit" class="main">
          {shared.save()}
        </button>
        <a class="button" href={back}>
          {backText}
        </a>
      </div>
    </Form>
  );
}
