import { ACCOUNTS } from './accounts/feature.ts';
import { ADJUSTMENTS } from './adjustments/feature.ts';
import { AFFILIATES } from './affiliates/feature.ts';
import { AUDIT } from './audit/feature.ts';
import { BILLING } from './billing/feature.ts';
import { CREDITS } from './credits/feature.ts';
import { EMAILS } from './emails/feature.ts';
import type { DomainFeature } from './feature.ts';
import { GENERATIONS } from './generations/feature.ts';
import { MEMBERS } from './members/feature.ts';
import { OAUTH } from './oauth/feature.ts';
import { PLATFORM } from './platform/feature.ts';
import { REPORT_SUMS } from './reports/feature.ts';
import { SIGN_IN } from './signIn/feature.ts';
import { SPENDING_LIMITS } from './spendingLimits/feature.ts';
import { UPLOADS } from './uploads/feature.ts';
import { UPSTREAMS } from './upstreams/feature.ts';
import { USAGE } from './usage/feature.ts';
import { WEBHOOKS } from './webhooks/feature.ts';

/**
 * All subjects that have a feature, in the order of a download, an erasure and the integrity check. Three rules bind
 * it: access ends before other rows are erased; a subject comes after those whose SQL functions it calls; webhooks come
 * before e-mail, as events are locked before what follows from them.
 */
const FEATURES: readonly DomainFeature[] = [
  SIGN_IN,
  MEMBERS,
  ACCOUNTS,
  SPENDING_LIMITS,
  OAUTH,
  CREDITS,
  GENERATIONS,
  UPLOADS,
  BILLING,
  AFFILIATES,
  WEBHOOKS,
  EMAILS,
  USAGE,
  PLATFORM,
  REPORT_SUMS,
  AUDIT,
  ADJUSTMENTS,
  UPSTREAMS,
];

/** All functions that a release installs, a called one before its callers. */
export const SQL_FUNCTIONS = FEATURES.flatMap(({ sqlFunctions = [] }) => sqlFunctions);

/** Kinds of tasks of the subjects, without the deletion of accounts. */
export const SUBJECT_TASK_KINDS = FEATURES.flatMap(({ tasks = [] }) => tasks);

/** The invariants of these subjects, in the order in which they are checked and reported. */
export const SUBJECT_INVARIANTS = FEATURES.flatMap(({ invariants = [] }) => invariants);

/** All lists of a download, in their order in the file. */
export const EXPORT_LISTS = FEATURES.flatMap(({ exportLists = [] }) => exportLists);

/** All parts of an erasure, in their order. */
export const ERASURES = FEATURES.flatMap(({ erasure = [] }) => erasure);

/** Everything that is kept for a time, in the order in which the rest is deleted. */
export const RETENTION = FEATURES.flatMap(({ retention = [] }) => retention);
