import { SUBJECT_TASK_KINDS } from '../features.ts';
import { DELETE_ACCOUNT } from './deletionSweep.ts';

/** All kinds of tasks. The deletion of an account needs the features of all subjects, and is in none. */
export const ALL_TASK_KINDS = [...SUBJECT_TASK_KINDS, DELETE_ACCOUNT];
