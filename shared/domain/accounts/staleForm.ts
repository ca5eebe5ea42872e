import { ServiceError } from '../../spec/errors.ts';

/**
 * Rejects a form that was opened before another change of what it shows, unless that made the same change.
 * @param change names it: `This API key was changed`.
 * @param values that the form showed, undefined without a form; that are present; and that are to be stored.
 * @throws ServiceError validation_error
 */
export function assertFormNotStale(
  change: string,
  { expected, present, intended }: { expected: string | undefined; present: string; intended?: string },
): void {
  if (expected === undefined || [expected, intended].includes(present)) return;
  const detail = `${change} after you opened the page, so your changes were not saved. The form now shows the present values. Make your changes again.`;
  throw new ServiceError('validation_error', detail);
}
