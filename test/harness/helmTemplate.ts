import { dump } from 'js-yaml';

/**
 * Renders the part of Helm's template language that the chart uses: `if`, `with`, `range`, `define`, `include`, fields
 * and the functions below. Anything else is an error. Helm itself is not needed for the tests.
 */
type Node = { text: string } | { action: string; body: Node[]; otherwise: Node[] } | { value: string };
type Scope = { root: Record<string, unknown>; dot: unknown; variables: Record<string, unknown> };

const BLOCK = /^(if|with|range|define)\b/;

export class HelmChart {
  readonly #definitions = new Map<string, Node[]>();

  /** @param helpers text of `_helpers.tpl`. */
  constructor(helpers: string) {
    for (const node of parse(helpers)) {
      if ('action' in node) this.#definitions.set(/"(.+)"/.exec(node.action)?.[1] ?? '', node.body);
    }
  }

  render(template: string, root: Record<string, unknown>): string {
    return this.#write(parse(template), { root, dot: root, variables: {} });
  }

  #write(nodes: Node[], scope: Scope): string {
    return nodes.map((node) => this.#writeNode(node, scope)).join('');
  }

  #writeNode(node: Node, scope: Scope): string {
    if ('text' in node) return node.text;
    if ('value' in node) return toText(this.#evaluate(node.value, scope));
    const [, kind, expression = ''] = /^(\w+)\s+(.*)$/s.exec(node.action) ?? [];
    if (kind === 'range') return this.#writeRange(node.body, expression, scope);
    const value = this.#evaluate(expression, scope);
    if (isEmpty(value)) return this.#write(node.otherwise, scope);
    return this.#write(node.body, kind === 'with' ? { ...scope, dot: value } : scope);
  }

  #writeRange(body: Node[], expression: string, scope: Scope): string {
    const [, key = '', item = '', source = ''] = /^(\$\w+), (\$\w+) := (.*)$/.exec(expression) ?? [];
    // Helm visits a map in the order of its keys.
    return Object.entries(this.#evaluate(source, scope) as object)
      .sort(([left], [right]) => (left < right ? -1 : 1))
      .map(([name, value]) => this.#write(body, { ...scope, variables: { [key]: name, [item]: value } }))
      .join('');
  }

  #evaluate(pipeline: string, scope: Scope): unknown {
    const [first = '', ...filters] = pipeline.split('|').map((part) => part.trim());
    return filters.reduce((value, filter) => this.#call(filter, scope, value), this.#call(first, scope));
  }

  #call(text: string, scope: Scope, piped?: unknown): unknown {
    const [name = '', ...args] = text.match(/"[^"]*"|\S+/g) ?? [];
    const values = args.map((argument) => this.#readValue(argument, scope));
    if (piped !== undefined) values.push(piped);
    switch (name) {
      case 'include':
        return this.#write(this.#definitions.get(String(values[0])) ?? fail(text), { ...scope, dot: values[1] }).trim();
      case 'toYaml':
        return dump(values[0]).trimEnd();
      case 'nindent':
        return `\n${String(values[1]).replaceAll(/^(?=.)/gm, ' '.repeat(Number(values[0])))}`;
      case 'quote':
        return JSON.stringify(String(values[0]));
      case 'default':
        return isEmpty(values[1]) ? values[0] : values[1];
      case 'required':
        return isEmpty(values[1]) ? expectValue(values[0]) : values[1];
      case 'not':
        return isEmpty(values[0]);
      default:
        return this.#readValue(text, scope);
    }
  }

  #readValue(text: string, { root, dot, variables }: Scope): unknown {
    if (/^".*"$/.test(text)) return text.slice(1, -1);
    if (/^\d+$/.test(text)) return Number(text);
    if (text.startsWith('$')) return variables[text];
    if (text === '.') return dot;
    if (!/^\.[\w.]+$/.test(text)) return fail(text);
    // Every path of the chart is absolute, and every value has a default.
    return at(root, text.slice(1).split('.')) ?? fail(text);
  }
}

const at = (root: unknown, path: string[]): unknown =>
  path.reduce<unknown>((value, name) => (value as Record<string, unknown> | undefined)?.[name], root);

/** A value as Helm prints it. Objects need `toYaml`. */
function toText(value: unknown): string {
  if (value === undefined) return '';
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return String(value);
  return fail(JSON.stringify(value));
}

const isEmpty = (value: unknown): boolean =>
  value === undefined || value === false || value === '' || (Array.isArray(value) && value.length === 0);

function expectValue(message: unknown): never {
  throw new Error(String(message));
}

function fail(text: string): never {
  throw new Error(`The chart uses something that this renderer does not support, or an unknown value: ${text}`);
}

function parse(template: string): Node[] {
  const tokens = [...template.matchAll(/(\s*\{\{-|\{\{)\s*(.*?)\s*(-\}\}\s*|\}\})|((?:(?!\s*\{\{).)+|\s+)/gs)];
  const stack: { nodes: Node[]; block?: { action: string; body: Node[]; otherwise: Node[] } }[] = [{ nodes: [] }];
  for (const [, , action, , text] of tokens) {
    const top = stack.at(-1) as (typeof stack)[number];
    if (text !== undefined) top.nodes.push({ text });
    else if (action === 'end') stack.pop();
    else if (action === 'else') top.nodes = top.block?.otherwise ?? fail('else');
    else if (BLOCK.test(action as string)) {
      const block = { action: action as string, body: [], otherwise: [] };
      top.nodes.push(block);
      stack.push({ nodes: block.body, block });
    } else top.nodes.push({ value: action as string });
  }
  if (stack.length !== 1) throw new Error('A block of the chart is not closed.');
  return (stack[0] as { nodes: Node[] }).nodes;
}
