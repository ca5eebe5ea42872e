import { API, type Snapshot } from 'typescript/unstable/sync';
import {
  type CallExpression,
  isBinaryExpression,
  isCallExpression,
  isConditionalExpression,
  isExpressionStatement,
  isIfStatement,
  isNoSubstitutionTemplateLiteral,
  isNumericLiteral,
  isPrefixUnaryExpression,
  isPropertyAccessExpression,
  isReturnStatement,
  isTemplateExpression,
  type Node,
  type SourceFile,
  SyntaxKind,
} from 'typescript/unstable/ast';
import { applyEdit, type Edit, type Mutant } from './mutant.ts';
import { listSqlEdits } from './sqlMutants.ts';

/** A change of TypeScript that replaces one expression or statement. `shown` is the part of it that differs. */
export interface TsEdit extends Edit {
  isStatic: boolean;
  shown: Edit;
}

/** Records the replacement of a node. */
type Replace = (node: Node, replacement: string, shown?: Edit) => void;
type GetText = (node: Node) => string;

const OPERATORS = new Map(
  ['=== !==', '< <=', '> >=', '+ -', '* /', '&& ||', '+= -='].flatMap((pair) => {
    const [one, other] = pair.split(' ') as [string, string];
    return [
      [one, other],
      [other, one],
    ];
  }),
);

/** Calls that narrow, order or lock what a query or an array yields; without them the rest of the chain is the same. */
const CHAINED =
  /^(?:where|andWhere|orWhere|whereNot|whereNull|whereNotNull|whereIn|whereNotIn|whereRaw|forNoKeyUpdate|forUpdate|forShare|skipLocked|orderBy|limit|filter|toSorted|toReversed)$/;
const SQL = /\b(?:SELECT|UPDATE|INSERT|DELETE|FROM|WHERE|AND|CASE)\b/;

/** Finds the changes of one operator, literal, condition, call or statement. */
export function listTsEdits(sourceFile: SourceFile): TsEdit[] {
  const source = sourceFile.text;
  const edits: TsEdit[] = [];
  const getText = (node: Node) => source.slice(node.getStart(sourceFile), node.end);
  const visit = (node: Node, isStatic: boolean): void => {
    const replace: Replace = (replaced, replacement, shown) => {
      const edit = { start: replaced.getStart(sourceFile), end: replaced.end, replacement };
      edits.push({ ...edit, isStatic, shown: shown ?? edit });
    };
    addEdits(node, getText, replace);
    const isFunction = /Function|Method|Constructor|Accessor/.test(SyntaxKind[node.kind]);
    node.forEachChild((child) => {
      if (!isIgnored(child)) visit(child, isStatic && !isFunction);
    });
  };
  visit(sourceFile, true);
  return edits;
}

/** Types do not run, and a tagged template or a key of an object cannot be an expression. */
function isIgnored({ kind }: Node): boolean {
  const name = SyntaxKind[kind];
  return /Type$|TypeReference|Keyword$|Import|Interface|TypeAlias|TaggedTemplate|ComputedPropertyName/.test(name);
}

function addEdits(node: Node, getText: GetText, replace: Replace): void {
  const text = getText(node);
  if (isBinaryExpression(node)) {
    const { left, operatorToken, right } = node;
    const operator = getText(operatorToken);
    const swapped = OPERATORS.get(operator);
    const isText = operator === '+' && [left, right].some((side) => /^['"`]/.test(getText(side)));
    if (swapped !== undefined && !isText) {
      const shown = { start: operatorToken.end - operator.length, end: operatorToken.end, replacement: swapped };
      replace(node, `${getText(left)} ${swapped} ${getText(right)}`, shown);
    }
    if (operator === '??') replace(node, getText(left));
  } else if (isPrefixUnaryExpression(node)) {
    if (/^[!-]/.test(text)) replace(node, getText(node.operand));
  } else if (isNumericLiteral(node)) replace(node, String(Number(text.replaceAll('_', '')) + 1));
  else if (isIfStatement(node)) replaceCondition(node.expression, replace);
  else if (isConditionalExpression(node)) replaceCondition(node.condition, replace);
  else if (isReturnStatement(node)) {
    if (node.expression !== undefined) replace(node.expression, 'undefined');
  } else if (isExpressionStatement(node)) {
    if (/^(?:await |void )?[\w.$]+\(/.test(text)) replace(node, ';');
  } else if (isCallExpression(node)) addCallEdits(node, getText, replace);
  else if (isNoSubstitutionTemplateLiteral(node) || isTemplateExpression(node)) {
    const start = node.end - text.length + 1;
    if (!SQL.test(text)) return;
    const sql = text.slice(1, -1);
    for (const edit of listSqlEdits(sql))
      replace(node, `\`${applyEdit(sql, edit)}\``, { ...edit, start: start + edit.start, end: start + edit.end });
  } else if (node.kind === SyntaxKind.TrueKeyword) replace(node, 'false');
  else if (node.kind === SyntaxKind.FalseKeyword) replace(node, 'true');
}

function replaceCondition(condition: Node, replace: Replace): void {
  replace(condition, 'true');
  replace(condition, 'false');
}

function addCallEdits(node: CallExpression, getText: GetText, replace: Replace): void {
  const callee = getText(node.expression);
  if (/^Math\.(?:min|max)$/.test(callee)) {
    replace(node.expression, callee === 'Math.min' ? 'Math.max' : 'Math.min');
  }
  if (!isPropertyAccessExpression(node.expression)) return;
  const { name, expression: subject } = node.expression;
  if (CHAINED.test(getText(name))) replace(node, getText(subject));
  const isConflict = /^(?:ignore|merge)$/.test(getText(name)) && /\.onConflict\([^()]*\)$/.test(getText(subject));
  if (isConflict) replace(node, getText(subject).replace(/\.onConflict\([^()]*\)$/, ''));
}

const isActive = (id: number): string => `globalThis.mutant === ${id}`;

/**
 * Builds the text of a module with all of its mutants in it. The one whose id is `globalThis.mutant` is active.
 * @param mutants whose ranges are nested or apart.
 */
export function buildInstrumented(source: string, mutants: readonly Mutant[]): string {
  const render = (start: number, end: number, inside: readonly Mutant[]): string => {
    let text = '';
    let from = start;
    for (let rest = inside; rest.length > 0; ) {
      const first = Math.min(...rest.map((mutant) => mutant.start));
      const last = Math.max(...rest.filter((mutant) => mutant.start === first).map((mutant) => mutant.end));
      const here = rest.filter((mutant) => mutant.start === first && mutant.end === last);
      const nested = rest.filter((mutant) => mutant.end <= last && !here.includes(mutant));
      const original = render(first, last, nested);
      const isStatement = here.some(({ replacement }) => replacement === ';');
      text += source.slice(from, first);
      text += isStatement
        ? `if (!(${here.map(({ id }) => isActive(id)).join(' || ')})) { ${original} }`
        : `(${here.map(({ id, replacement }) => `${isActive(id)} ? (${replacement}) : `).join('')}(${original}))`;
      from = last;
      rest = rest.filter((mutant) => mutant.start >= last);
    }
    return text + source.slice(from, end);
  };
  return render(0, source.length, mutants);
}

/** Parses modules and checks the types of mutants with the native compiler. */
export class TypeChecker {
  readonly #api: API;
  readonly #config: string;
  readonly #mutated = new Map<string, string>();
  #snapshot: Snapshot;

  /** @param config path of a `tsconfig.json`. @param files their texts, by path, beside those of the disk. */
  constructor(config: string, files: ReadonlyMap<string, string> = new Map()) {
    this.#api = new API({ fs: { readFile: (path) => this.#mutated.get(path) ?? files.get(path) } });
    this.#config = config;
    this.#snapshot = this.#api.updateSnapshot({ openProjects: [config] });
  }

  parse(path: string): SourceFile {
    const file = this.#snapshot.getProject(this.#config)?.program.getSourceFile(path);
    if (file === undefined) throw new Error(`${path} is not a module of ${this.#config}.`);
    return file;
  }

  /** @returns whether a module has no type error with this text. */
  accepts(path: string, text: string): boolean {
    this.#mutated.set(path, text);
    this.#refresh(path);
    const program = this.#snapshot.getProject(this.#config)?.program;
    const errors = [program?.getSyntacticDiagnostics(path), program?.getSemanticDiagnostics(path)].flat();
    this.#mutated.delete(path);
    this.#refresh(path);
    return errors.length === 0;
  }

  #refresh(path: string): void {
    this.#snapshot = this.#api.updateSnapshot({ fileChanges: { changed: [path] } });
  }

  close(): void {
    this.#api.close();
  }
}
