import type { CodeChange } from './codeChange.ts';

/** A realistic mistake, built into a copy of the service to prove that chaos detects it. */
export interface SeededBug {
  name: string;
  changes: CodeChange[];
  /** Statements for the migrated database that remove the second line of defence, such as a unique index. */
  sql?: string[];
  /** The invariants that may detect it. Other violations in the same run prove nothing. */
  foundBy: string[];
  /** Limits `foundBy` to violations whose subject and detail match. */
  detailPattern?: RegExp;
}
