/** A change of a source text: one operator, literal, condition, clause or statement. */
export interface Edit {
  start: number;
  end: number;
  replacement: string;
}

/** A copy of the service with one change, which a test should detect. */
export interface Mutant extends Edit {
  id: number;
  /** Path from the root of the repository. */
  file: string;
  /** Counted from 1. */
  line: number;
  /** Its text, without indentation. */
  lineText: string;
  /** `original → replacement`, on one line. */
  change: string;
  /** TypeScript that runs when its module is loaded, and so only once in a process. */
  isStatic: boolean;
}

/** Describes the edits of a file as mutants, each text once. @param firstId ids are unique in a run. */
export function toMutants(
  file: string,
  source: string,
  edits: readonly (Edit & { isStatic?: boolean; shown?: Edit })[],
  firstId: number,
): Mutant[] {
  const unique = new Map(edits.map((edit) => [applyEdit(source, edit), edit]));
  unique.delete(source);
  const sorted = [...unique.values()].toSorted((one, other) => one.start - other.start || one.end - other.end);
  return sorted.map((edit, index) => {
    const { start, end, replacement, isStatic = false, shown = edit } = edit;
    const lineStart = source.lastIndexOf('\n', shown.start - 1) + 1;
    const lineEnd = source.indexOf('\n', shown.start);
    const original = source.slice(shown.start, shown.end).replaceAll(/\s+/g, ' ');
    return {
      id: firstId + index,
      file,
      line: source.slice(0, shown.start).split('\n').length,
      lineText: source.slice(lineStart, lineEnd === -1 ? undefined : lineEnd).trim(),
      change: `${original} → ${shown.replacement.replaceAll(/\s+/g, ' ') || 'nothing'}`,
      start,
      end,
      replacement,
      isStatic,
    };
  });
}

export function applyEdit(source: string, { start, end, replacement }: Edit): string {
  return source.slice(0, start) + replacement + source.slice(end);
}
