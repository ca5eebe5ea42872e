import type { VNode } from 'preact';
import type { StaffActor } from '../../../../../shared/domain/audit/recordAuditEntry.ts';
import { isUuid } from '../../../../../shared/lib/uuid.ts';
import { ServiceError } from '../../../../../shared/spec/errors.ts';
import { STAFF_REASON_MAX_CHARACTERS } from '../../../../../shared/spec/staff.ts';
import { type Context, requireActor } from '../../../../context.ts';
import { getForm } from '../../../../pipeline/body.ts';
import { CSRF_FIELD } from '../../../../pipeline/csrf.ts';
import { REQUEST_FIELD } from '../../../../pipeline/idempotency.ts';
import { getErrorStatus } from '../../../../pipeline/httpError.ts';
import { seeOther } from '../../../../pipeline/redirect.ts';
import type { ActionPages } from '../../../../pipeline/route.ts';
import { getPathParam, parseUuidParam } from '../../../../pipeline/requestParameters.ts';
import { type Confirmation, ConfirmationForm } from '../../../../web/components/accountAction.tsx';
import { TextField } from '../../../../web/components/fields.tsx';
import { sendStaffConsolePage } from '../../../../web/components/areaPage.tsx';
import type { StaffEntry } from '../../../../web/navigation.ts';

/** Description of a target in the form of an action. */
export interface ActionDescription extends Confirmation {
  /**
   * Sentence in place of the form if the action is no longer possible. A repeated form still gets its first outcome.
   */
  closed?: string | undefined;
}

/** Input of an action from its form. */
export interface ActionInput {
  /** The member who performs it, with the reason that was entered. */
  actor: StaffActor;
  /** UUID of the form: the same when it is sent again. */
  request: string;
  form: URLSearchParams;
}

/** An action of staff on one target, which the path names. */
export interface StaffAction<Target> {
  /**
   * The page in the navigation to which the target belongs, and the name of the page to return to. Default: an account.
   */
  area?: { current: StaffEntry['path']; returnTo: string };
  /** Parameter of the path that names the target. Default: `uuid`, which must be one. */
  parameter?: string;
  /** @throws ServiceError not_found */
  find: (name: string) => Promise<Target> | Target;
  describe: (target: Target) => ActionDescription;
  /** Fields besides the reason, with the values that were typed. */
  renderFields?: (form: URLSearchParams) => VNode;
  /**
   * Describes the effect of what was typed, on a second page that asks for confirmation.
   * @throws ServiceError if it cannot be performed.
   */
  preview?: (target: Target, form: URLSearchParams) => Omit<ActionDescription, 'returnPath'>;
  /** Performs the action. @returns the code of its outcome on the page to return to. */
  perform: (target: Target, input: ActionInput) => Promise<string>;
}

/** Value of the field `step` with which a form asks for the preview of its effect. */
const PREVIEW = 'preview';

const ACCOUNTS_AREA = { current: '/admin/accounts/', returnTo: 'the account' } as const;

/** Returns the pages of an action, of which the first asks for a reason, too. */
export function defineAction<Target>(action: StaffAction<Target>): ActionPages {
  return {
    confirm: async (ctx) => {
      const target = await findTarget(ctx, action);
      await sendActionPage(ctx, action, target, { form: new URLSearchParams() });
    },
    submit: async (ctx) => {
      const target = await findTarget(ctx, action);
      const form = getForm(ctx);
      try {
        const actor = requireActor(ctx, parseReason(form));
        if (form.get('step') === PREVIEW) return await sendPreviewPage(ctx, action, target, form);
        const outcome = await action.perform(target, { actor, request: parseRequest(form), form });
        seeOther(ctx, `${action.describe(target).returnPath}?done=${outcome}`);
      } catch (error) {
        if (!(error instanceof ServiceError)) throw error;
        await sendActionPage(ctx, action, target, { form, problem: error.message }, getErrorStatus(error));
      }
    },
  };
}

async function findTarget<Target>(ctx: Context, { parameter, find }: StaffAction<Target>): Promise<Target> {
  return find(parameter === undefined ? parseUuidParam(ctx) : getPathParam(ctx, parameter));
}

async function sendActionPage<Target>(
  ctx: Context,
  { area = ACCOUNTS_AREA, describe, renderFields, preview }: StaffAction<Target>,
  target: Target,
  { form, problem }: { form: URLSearchParams; problem?: string },
  status = 200,
): Promise<void> {
  const { question, consequences, returnPath, closed, ...button } = describe(target);
  const step = preview === undefined ? undefined : PREVIEW;
  const confirmation = (
    <section class="card" aria-label="Confirmation">
      <div class="stack">{consequences}</div>
      <ConfirmationForm ctx={ctx} step={step} request={getSentRequest(form)} returnPath={returnPath} {...button}>
        {renderFields?.(form)}
        <ReasonField value={form.get('reason') ?? ''} />
      </ConfirmationForm>
    </section>
  );
  const explanation = (
    <section class="card">
      <p>{closed}</p>
      <a class="button" href={returnPath}>
        Back to {area.returnTo}
      </a>
    </section>
  );
  const isClosed = closed !== undefined;
  const children = isClosed ? explanation : confirmation;
  const flash = problem === undefined || isClosed ? {} : { problem };
  await sendStaffConsolePage(ctx, { current: area.current, heading: question, ...flash, children }, status);
}

/** Shows the effect of what was typed. The form sends it again, with the same request. */
async function sendPreviewPage<Target>(
  ctx: Context,
  { area = ACCOUNTS_AREA, describe, preview }: StaffAction<Target>,
  target: Target,
  form: URLSearchParams,
): Promise<void> {
  const { question, consequences, ...button } = { ...describe(target), ...preview?.(target, form) };
  const typed = [...form].filter(([name]) => !['step', REQUEST_FIELD, CSRF_FIELD].includes(name));
  const children = (
    <section class="card" aria-label="Confirmation">
      <div class="stack">{consequences}</div>
      <ConfirmationForm ctx={ctx} request={getSentRequest(form)} {...button}>
        {typed.map(([name, value]) => (
          <input type="hidden" name={name} value={value} />
        ))}
      </ConfirmationForm>
    </section>
  );
  await sendStaffConsolePage(ctx, { current: area.current, heading: question, children });
}

/** Field for the reason of an action, which the audit log keeps. */
export function ReasonField({ value = '' }: { value?: string }): VNode {
  return (
    <TextField
      id="reason"
      name="reason"
      label="Reason"
      hint="Recorded in the audit log, such as a ticket number. The customer does not see it. Do not enter personal data."
      value={value}
      required
      maxLength={STAFF_REASON_MAX_CHARACTERS}
      autocomplete="off"
    />
  );
}

/** @throws ServiceError validation_error */
export function parseReason(form: URLSearchParams): string {
  const reason = (form.get('reason') ?? '').trim();
  if (reason !== '' && reason.length <= STAFF_REASON_MAX_CHARACTERS && !/[\p{Cc}\p{Cs}]/u.test(reason)) return reason;
  throw new ServiceError(
    'validation_error',
    `Enter a reason of one line and at most ${STAFF_REASON_MAX_CHARACTERS} characters.`,
  );
}

/** Returns the UUID of a form. @throws ServiceError validation_error */
export function parseRequest(form: URLSearchParams): string {
  const request = getSentRequest(form);
  if (request !== undefined) return request;
  throw new ServiceError('validation_error', 'The form is incomplete. Reload its page and send it again.');
}

function getSentRequest(form: URLSearchParams): string | undefined {
  const request = form.get(REQUEST_FIELD) ?? '';
  return isUuid(request) ? request.toLowerCase() : undefined;
}
