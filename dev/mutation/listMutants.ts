import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../local/environment/build.ts';
import { EXPLAINED } from './explained.ts';
import { type Mutant, toMutants } from './mutant.ts';
import { listSqlEdits } from './sqlMutants.ts';
import { listTsEdits, type TypeChecker } from './tsMutants.ts';

/** Finds the mutants of files, by their paths from the root of the repository. */
export function listMutants(files: readonly string[], checker: TypeChecker | undefined): Mutant[] {
  const mutants: Mutant[] = [];
  for (const file of files) {
    const source = readFileSync(join(ROOT, file), 'utf8');
    const isSql = file.endsWith('.sql');
    const edits = isSql ? listSqlEdits(source) : listTsEdits((checker as TypeChecker).parse(join(ROOT, file)));
    mutants.push(...toMutants(file, source, edits, mutants.length + 1));
  }
  return mutants;
}

/** Returns the reason for which a mutant cannot be detected, or undefined. */
export function findReason({ file, lineText, change }: Mutant): string | undefined {
  return EXPLAINED.find((known) => known.file === file && known.line === lineText && known.changes.includes(change))
    ?.reason;
}
