/**
 * Page on which the owner of an account deletes it, and undoes that. Members get it while the account is being deleted.
 */
export const DELETION_PATH = '/account/delete/';

export const EXPORT_PATH = '/account/export/';
