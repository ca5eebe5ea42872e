import { ServiceError } from '../../spec/errors.ts';

/**
 * Creates the error for a form that was opened before another change of what it shows.
 * @param change names it: `This API key was changed`.
 */
export function staleFormError(change: string): ServiceError {
  const detail = `${change} after you opened the page, so your changes were not saved. The form now shows the present values. Make your changes again.`;
  return new ServiceError('validation_error', detail);
}
