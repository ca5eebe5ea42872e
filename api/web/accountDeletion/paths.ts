/** Page on which the owner of an account deletes it, and undoes that. */
export const DELETION_PATH = '/account/delete/';

export const EXPORT_PATH = '/account/export/';

/** Paths that stay available while an account is being deleted. */
export const PATHS_DURING_DELETION: ReadonlySet<string> = new Set([
  DELETION_PATH,
  `${DELETION_PATH}undo/`,
  EXPORT_PATH,
  '/account/sign-out/',
]);
