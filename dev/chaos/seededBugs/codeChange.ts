/**
 * An edit of the service's source that survives reformatting, moved comments and renamed locals.
 *
 * `find` is compared token by token: white space, line breaks, comments, the kind of quote and trailing commas make no
 * difference. `$name` stands for any identifier (the same one wherever it is repeated) and can be used in `replace`.
 */
export interface CodeChange {
  /** Path of the source file, from the root of the repository. */
  file: string;
  /** The top-level function or constant to search; the whole file by default. */
  within?: string | undefined;
  /** Must occur exactly once. */
  find: string;
  replace: string;
}

/**
 * Applies a change to the text of its file.
 * @throws Error if the text does not occur exactly once: the code has moved on, and the seeded bug must follow. Also if
 * `replace` uses a placeholder that `find` does not have.
 */
export function applyCodeChange(source: string, { file, within, find, replace }: CodeChange): string {
  const [start, end] = within === undefined ? [0, source.length] : findDeclaration(source, file, within);
  const scope = source.slice(start, end);
  const matches = [...scope.matchAll(toPattern(find))];
  const [match] = matches;
  if (match === undefined || matches.length > 1) {
    throw new Error(
      `${within === undefined ? file : `${within} in ${file}`} contains "${find}" ${matches.length} times instead of once.`,
    );
  }
  const replacement = replace.replaceAll(/\$([a-z]\w*)/gi, (placeholder, name: string) => {
    const identifier = match.groups?.[name];
    if (identifier === undefined) throw new Error(`"${find}" has no ${placeholder}, which its replacement uses.`);
    return identifier;
  });
  const changed = scope.slice(0, match.index) + replacement + scope.slice(match.index + match[0].length);
  return source.slice(0, start) + changed + source.slice(end);
}

/**
 * Parses changes. Each begins a line with `path/file.ts declaration: find --> replace`, without the declaration if the
 * whole file is searched, and may continue on further lines.
 */
export function parseCodeChanges(text: string): CodeChange[] {
  const changes = text.split(/^\s*(?=\S+\.(?:ts|sql)(?: \w+)?:)/m).filter((change) => change.trim() !== '');
  return changes.map((change) => {
    const [, file, within, find, replace] = /^(\S+)(?: (\w+))?:([^]*?)-->([^]*)$/.exec(change) ?? [];
    if (file === undefined || find === undefined) throw new Error(`"${change}" is not a change.`);
    return { file, within, find: find.trim(), replace: replace?.trim() ?? '' };
  });
}

/** A top-level declaration begins in the first column and extends to the next one. */
const DECLARATION = /^(?:export )?(?:async )?(?:function|const|let|class|interface|type) (\w+)/gm;

function findDeclaration(source: string, file: string, name: string): [start: number, end: number] {
  const declarations = [...source.matchAll(DECLARATION)];
  const index = declarations.findIndex(([, declared]) => declared === name);
  const declaration = declarations[index];
  if (declaration === undefined) throw new Error(`${file} declares no ${name} at its top level.`);
  return [declaration.index, declarations[index + 1]?.index ?? source.length];
}

const TOKEN = /\$[a-z]\w*|\w+|\S/gi;
/** White space and comments between two tokens, and a trailing comma before a closing bracket. */
const GAP = String.raw`(?:\s|//.*|/\*[^]*?\*/)*`;

function toPattern(find: string): RegExp {
  const seen = new Set<string>();
  const tokens = find.match(TOKEN) ?? [];
  return new RegExp(tokens.map((token) => toTokenPattern(token, seen)).join(GAP), 'g');
}

function toTokenPattern(token: string, seen: Set<string>): string {
  if (/^\$\w/.test(token)) {
    const name = token.slice(1);
    if (seen.has(name)) return String.raw`\b\k<${name}>\b`;
    seen.add(name);
    return String.raw`\b(?<${name}>[A-Za-z_]\w*)\b`;
  }
  if (/^\w/.test(token)) return String.raw`\b${token}\b`;
  if (token === "'" || token === '"') return `['"]`;
  const literal = token.replaceAll(/[$()*+.?[\\\]^{|}/-]/g, String.raw`\$&`);
  return ')]}'.includes(token) ? `,?${GAP}${literal}` : literal;
}
