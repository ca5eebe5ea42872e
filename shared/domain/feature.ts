import type { Transaction } from 'objection';
import type { SqlFunction } from '../lib/database/sqlFunctions.ts';
import type { Account } from '../tables/Account.ts';
import type { ExportList } from './exportList.ts';
import type { Invariant } from './invariant.ts';
import type { Retention } from './retention.ts';
import type { TaskKind } from './tasks/taskKind.ts';

/** Erases the data of an account. Each part can be repeated: the next run continues an interrupted one. */
export interface Erasure {
  /** Deletes rows ahead of the transaction, if they may be too many for one statement. */
  before?: (accountId: number) => Promise<void>;
  /** Deletes or empties rows in the transaction that has locked the account. */
  inTransaction?: (transaction: Transaction, account: Account) => Promise<void>;
  /** Erases after the commit what is deleted one by one, files, and copies elsewhere. */
  after?: (account: Account) => Promise<void>;
}

/** Entries of a subject in the lists that cover all subjects. `features.ts` builds those. */
export interface DomainFeature {
  /** Functions that a release installs, a called one before its callers. */
  sqlFunctions?: readonly SqlFunction[];
  invariants?: readonly Invariant[];
  /** Lists of a download. */
  exportLists?: readonly ExportList[];
  erasure?: Erasure;
  /** Kinds of tasks that its rows schedule. */
  tasks?: readonly TaskKind[];
  /** Rows that are kept for a time, and functions that delete what takes more than a statement. */
  retention?: readonly (Retention | (() => Promise<void>))[];
}
