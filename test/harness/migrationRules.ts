/** Statements that break the previous release, or block it on a large table, and what to do instead. */
const RULES: { pattern: RegExp; instead: string }[] = [
  { pattern: /\bCREATE\s+(UNIQUE\s+)?INDEX\s+(?!CONCURRENTLY)/i, instead: 'build it with CREATE INDEX CONCURRENTLY' },
  { pattern: /\bDROP\s+INDEX\s+(?!CONCURRENTLY)/i, instead: 'drop it in a contraction' },
  { pattern: /\bDROP\s+(TABLE|COLUMN|FUNCTION|TRIGGER)\b/i, instead: 'drop it in a contraction' },
  { pattern: /\bRENAME\s+(TO|COLUMN|CONSTRAINT)\b/i, instead: 'add the new name beside the old one' },
  { pattern: /\bALTER\s+COLUMN\s+\w+\s+(SET\s+DATA\s+)?TYPE\b/i, instead: 'add a column of the new type' },
  { pattern: /\bSET\s+NOT\s+NULL\b/i, instead: 'add a CHECK (... IS NOT NULL) NOT VALID and validate it' },
  {
    pattern:
      /\bADD\s+COLUMN\s+(?:IF\s+NOT\s+EXISTS\s+)?\w+\s+(?:(?!,|;|DEFAULT).)*NOT\s+NULL(?!(?:(?!,|;).)*DEFAULT)/is,
    instead: 'give it a DEFAULT, which the previous release does not set',
  },
  {
    pattern: /\bADD\s+(CONSTRAINT\s+\w+\s+)?(CHECK|FOREIGN\s+KEY)\b(?:(?!;|NOT\s+VALID).)*(?:;|$)/is,
    instead: 'add it NOT VALID and validate it in a later migration',
  },
];

/**
 * Finds statements of a migration that are not safe while the previous release runs. A new table, with its indexes, is
 * safe. A migration that removes what no running release uses has a comment that begins with `-- Contraction:`.
 */
export function findUnsafeStatements(sql: string): string[] {
  if (/^-- Contraction: \S/m.test(sql)) return [];
  const created = [...sql.matchAll(/CREATE\s+TABLE\s+(\w+)/gi)].map(([, name = '']) => name);
  const statements = sql
    .split(';')
    .filter((text) => !created.some((name) => new RegExp(`\\bON\\s+${name}\\b`).test(text)));
  return RULES.filter(({ pattern }) => statements.some((text) => pattern.test(`${text};`))).map(
    ({ instead }) => instead,
  );
}
