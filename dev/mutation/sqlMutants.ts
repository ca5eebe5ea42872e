import type { Edit } from './mutant.ts';

interface Token {
  /** In upper case, except for strings. */
  text: string;
  start: number;
  end: number;
  /** The innermost bracket, or CASE, around it. */
  group: number;
}

const TOKEN =
  /--.*|\/\*[^]*?\*\/|'(?:[^']|'')*'|"[^"]*"|\$\{(?:[^{}]|\{[^}]*\})*\}|\$\$|\w+|<<=|->>|->|<=|>=|<>|\|\||:=|::|=>|[^\s]/g;

const SWAPS = new Map(
  ['< <=', '> >=', '= <>', '+ -', '* /', 'AND OR', 'TRUE FALSE', 'LEAST GREATEST', 'MIN MAX', 'BOOL_AND BOOL_OR']
    .map((pair) => pair.split(' ') as [string, string])
    .flatMap(([one, other]) => [
      [one, other],
      [other, one],
    ]),
);
const CALLS = new Set(['LEAST', 'GREATEST', 'MIN', 'MAX', 'BOOL_AND', 'BOOL_OR']);

/** Keywords that begin or end a condition. */
const BOUNDARY = new Set(
  `WHERE ON WHEN THEN ELSE ELSIF IF END SELECT HAVING RETURN RETURNING GROUP ORDER LIMIT FOR UNION LEFT JOIN CROSS FULL
   WINDOW FROM AS LOOP SET BY BEGIN USING AND OR , ; $$`.split(/\s+/),
);
const BOUNDARY_OF_OR = new Set([...BOUNDARY].filter((text) => text !== 'AND'));
/** Replacements of a condition that stands alone: a branch is not taken, a row is not filtered. */
const SINGLE = new Map([
  ['WHERE', 'true'],
  ['ON', 'true'],
  ['WHEN', 'false'],
  ['IF', 'false'],
  ['ELSIF', 'false'],
]);

/** Finds the changes of one token, condition or clause of SQL: a file of a function, or a text between back quotes. */
export function listSqlEdits(source: string): Edit[] {
  const tokens = tokenize(source);
  const body = tokens.findIndex(({ text }) => text === '$$') + 1;
  return tokens.flatMap((_, index) => (index < body ? [] : listEditsAt(tokens, index)));
}

function tokenize(source: string): Token[] {
  const groups = [0];
  const tokens: Token[] = [];
  let isBetween = false;
  for (const match of source.matchAll(TOKEN)) {
    const [found] = match;
    if (found.startsWith('--') || found.startsWith('/*')) continue;
    let text = found.startsWith("'") ? found : found.toUpperCase();
    // The AND of BETWEEN joins no conditions.
    if (text === 'BETWEEN') isBetween = true;
    else if (text === 'AND' && isBetween) [text, isBetween] = ['TO', false];
    const isCase = tokens.find(({ start }) => start === groups.at(-1))?.text === 'CASE';
    if (')]'.includes(text) || (text === 'END' && isCase)) groups.pop();
    tokens.push({ text, start: match.index, end: match.index + found.length, group: groups.at(-1) as number });
    if ('(['.includes(text) || text === 'CASE') groups.push(match.index);
  }
  return tokens;
}

function listEditsAt(tokens: Token[], index: number): Edit[] {
  const at = (offset: number) => tokens[index + offset]?.text ?? '';
  const token = tokens[index] as Token;
  const { text } = token;
  const edits: Edit[] = [];
  const replace = (replacement: string, first = token, last = first) =>
    edits.push({ start: first.start, end: last.end, replacement });
  const isOperand = /^[\w)}'$]/.test(at(-1)) && !BOUNDARY.has(at(-1)) && at(-1) !== 'DISTINCT';
  const isAssignment = text === '=' && (at(-2) === ',' || at(-2) === 'SET');

  const swapped = SWAPS.get(text);
  if (text === '-' && !isOperand) replace('');
  else if (text === '*' && (!isOperand || at(1) === ')')) return [];
  else if (swapped !== undefined && !isAssignment && (!CALLS.has(text) || at(1) === '('))
    replace(swapped.toLowerCase());
  if (/^\d+$/.test(text) && !isPosition(tokens, index) && at(-1) !== ':') replace(String(Number(text) + 1));
  if (text === 'NOT' && at(1) !== 'MATERIALIZED') replace('');
  if (text === 'IS' && at(1) !== 'NOT') replace('is not');
  if (text === 'IN' && at(-1) !== 'NOT' && at(1) === '(') replace('not in');
  if (text === 'DESC') replace('asc');
  if (text === 'SKIP') replace('', token, tokens[index + 1]);
  if (text === 'ON' && at(1) === 'CONFLICT') replace('', token, findEnd(tokens, index, /^(?:RETURNING|;)$/));
  else if (text === 'FOR' && /^(?:NO|UPDATE|SHARE|KEY)$/.test(at(1))) replace('', token, findEnd(tokens, index, /^;$/));
  else if (text === 'ORDER') replace('', token, findEnd(tokens, index, /^(?:LIMIT|FOR|ROWS|UNION|;)$/));
  else if (/^(?:PERFORM|UPDATE)$/.test(text) && /^(?:;|BEGIN|THEN|LOOP)$/.test(at(-1))) {
    replace('null', token, findEnd(tokens, index, /^;$/));
  }
  if (text === 'COALESCE') {
    const members = tokens.filter(({ group }) => group === tokens[index + 1]?.start);
    const comma = members.findIndex((member) => member.text === ',');
    const close = tokens.findIndex(
      (other, place) => place > index && other.text === ')' && other.group === token.group,
    );
    if (comma > 0) replace('', members[comma], tokens[close - 1]);
  }
  if (text === 'AND' || text === 'OR') {
    const boundary = text === 'AND' ? BOUNDARY : BOUNDARY_OF_OR;
    const neutral = text === 'AND' ? 'true' : 'false';
    for (const step of [-1, 1]) {
      const operand = findCondition(tokens, index, step, boundary);
      if (operand !== undefined) replace(neutral, ...operand);
    }
  }
  const neutral = SINGLE.get(text);
  if (neutral !== undefined && at(1) !== 'CONFLICT' && at(-1) !== 'END') {
    const condition = findCondition(
      tokens,
      index,
      1,
      new Set([...BOUNDARY].filter((name) => !/^(?:AND|OR)$/.test(name))),
    );
    const inside = tokens.filter(({ start }) => condition && start >= condition[0].start && start < condition[1].end);
    const isSingle = !inside.some((other) => other.group === token.group && /^(?:AND|OR)$/.test(other.text));
    if (condition !== undefined && isSingle) replace(neutral, ...condition);
  }
  return edits;
}

/** True for a number that names a column of the result, in GROUP BY. */
function isPosition(tokens: Token[], index: number): boolean {
  let place = index - 1;
  while (/^(?:\d+|,)$/.test(tokens[place]?.text ?? '')) place -= 1;
  return tokens[place]?.text === 'BY';
}

/** Returns the last token of a clause: before `end`, or before the bracket that closes around it. */
function findEnd(tokens: Token[], index: number, end: RegExp): Token {
  const { group } = tokens[index] as Token;
  let last = index;
  for (let place = index + 1; place < tokens.length; place += 1) {
    const other = tokens[place] as Token;
    if (other.group < group || (other.group === group && end.test(other.text))) break;
    if (other.text === '$$') break;
    last = place;
  }
  return tokens[last] as Token;
}

/** Returns the first and last token of the condition beside a keyword. */
function findCondition(
  tokens: Token[],
  index: number,
  step: number,
  boundary: ReadonlySet<string>,
): [Token, Token] | undefined {
  const { group } = tokens[index] as Token;
  let found: Token | undefined;
  for (let place = index + step; ; place += step) {
    const other = tokens[place];
    if (other === undefined || other.group < group) break;
    const isDistinctFrom = other.text === 'FROM' && tokens[place - 1]?.text === 'DISTINCT';
    const isCaseEnd = other.text === 'END' && /^(?:CASE|\()$/.test(findOpener(tokens, place));
    if (other.group === group && boundary.has(other.text) && !isDistinctFrom && !isCaseEnd) break;
    found = other;
  }
  const near = tokens[index + step];
  if (found === undefined || near === undefined || /^(?:true|false)$/i.test(found === near ? near.text : ''))
    return undefined;
  return step > 0 ? [near, found] : [found, near];
}

/** Returns what opened the group that a token closes. */
function findOpener(tokens: Token[], index: number): string {
  const inner = tokens[index - 1]?.group;
  return inner === tokens[index]?.group ? '' : (tokens.find(({ start }) => start === inner)?.text ?? '');
}
