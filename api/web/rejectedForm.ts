import { AsyncLocalStorage } from 'node:async_hooks';
import type { ComponentChildren } from 'preact';

/** A form that was not accepted because of a field, while its page is built again. */
export interface RejectedForm {
  /** Address that the form was sent to. */
  path: string;
  /** Values that were entered. */
  form: URLSearchParams;
  /** Name of the field. */
  field: string;
  message: ComponentChildren;
}

const rejectedForm = new AsyncLocalStorage<RejectedForm>();

type Rejection = Pick<RejectedForm, 'path' | 'message'> & {
  [Name in 'form' | 'field']: RejectedForm[Name] | undefined;
};

/** Runs a function that builds a page. Without a form or a field, no form of it shows the message. */
export function withRejectedForm<Result>({ form, field, ...rejection }: Rejection, run: () => Result): Result {
  return form === undefined || field === undefined ? run() : rejectedForm.run({ form, field, ...rejection }, run);
}

/** Returns the form that was not accepted, if it was sent to this address. */
export function getRejectedForm(action: string): RejectedForm | undefined {
  const rejected = rejectedForm.getStore();
  return rejected !== undefined && toPath(rejected.path) === toPath(action) ? rejected : undefined;
}

const toPath = (address: string) => address.replace(/[?#].*$/, '').replace(/\/$/, '');
