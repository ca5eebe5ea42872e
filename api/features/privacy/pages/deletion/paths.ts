/** Page on which the owner of an account deletes it, and undoes that. */
export const DELETION_PATH = '/account/delete/';

export const EXPORT_PATH = '/account/export/';
