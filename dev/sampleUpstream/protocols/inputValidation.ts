/** The input of a request, before validation. */
export type RequestInput = Record<string, unknown>;

/** A validation error, which each protocol formats in its own way. `type`, `msg` and `ctx` are as at fal. */
export interface InputIssue {
  /** Empty if it is about the input as a whole. */
  field: string;
  type: string;
  msg: string;
  input: unknown;
  ctx?: Record<string, unknown>;
}

const MAX_PROMPT_CHARACTERS = 5000;

/** Describes one invalid value. */
export function buildIssue(
  field: string,
  type: string,
  msg: string,
  input: unknown,
  ctx?: Record<string, unknown>,
): InputIssue {
  return { field, type, msg, input, ...(ctx && { ctx }) };
}

/** Reads the prompt: required, 1 to 5,000 characters. */
export function readPrompt(input: RequestInput, issues: InputIssue[]): string {
  const value = input.prompt;
  if (value === undefined) issues.push(buildIssue('prompt', 'missing', 'Field required', input));
  else if (typeof value !== 'string') {
    issues.push(buildIssue('prompt', 'string_type', 'Input should be a valid string', value));
  } else if (value.trim() === '') {
    issues.push(
      buildIssue('prompt', 'string_too_short', 'String should have at least 1 character', value, { min_length: 1 }),
    );
  } else if (value.length > MAX_PROMPT_CHARACTERS) {
    const msg = `String should have at most ${MAX_PROMPT_CHARACTERS} characters`;
    issues.push(buildIssue('prompt', 'string_too_long', msg, value, { max_length: MAX_PROMPT_CHARACTERS }));
  } else return value;
  return '';
}

/** Reads one of a list of strings. A number does not match: as at fal and OpenAI `"5"` differs from 5. */
export function readChoice<T extends string>(
  input: RequestInput,
  field: string,
  allowed: readonly T[],
  fallback: T,
  issues: InputIssue[],
): T {
  const value = input[field] ?? fallback;
  const found = allowed.find((candidate) => candidate === value);
  if (found !== undefined) return found;
  const expected = allowed.map((candidate) => `'${candidate}'`).join(', ');
  issues.push(buildIssue(field, 'literal_error', `Input should be ${expected}`, value, { expected }));
  return fallback;
}

/** Reads a string option, and returns the value that it maps to. */
export function readOption<V>(
  input: RequestInput,
  field: string,
  table: Record<string, V>,
  fallback: string,
  issues: InputIssue[],
): V {
  return table[readChoice(input, field, Object.keys(table), fallback, issues)]!;
}

/** Reads a boolean. */
export function readFlag(input: RequestInput, field: string, fallback: boolean, issues: InputIssue[]): boolean {
  const value = input[field] ?? fallback;
  if (typeof value === 'boolean') return value;
  issues.push(buildIssue(field, 'bool_type', 'Input should be a valid boolean', value));
  return fallback;
}

/** Reads an integer within inclusive bounds. */
export function readInteger(
  input: RequestInput,
  field: string,
  bounds: { min: number; max: number },
  fallback: number,
  issues: InputIssue[],
): number {
  const value = input[field] ?? fallback;
  if (typeof value !== 'number' || !Number.isInteger(value)) {
    issues.push(buildIssue(field, 'int_type', 'Input should be a valid integer', value));
  } else if (value < bounds.min) {
    const msg = `Input should be greater than or equal to ${bounds.min}`;
    issues.push(buildIssue(field, 'greater_than_equal', msg, value, { ge: bounds.min }));
  } else if (value > bounds.max) {
    const msg = `Input should be less than or equal to ${bounds.max}`;
    issues.push(buildIssue(field, 'less_than_equal', msg, value, { le: bounds.max }));
  } else return value;
  return fallback;
}
