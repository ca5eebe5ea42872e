import { StripeApiError, StripeValidationError } from './stripeApiError.ts';

type FormValue = string | Form | FormValue[];
interface Form {
  [name: string]: FormValue;
}

/** Parses `a[b][0][c]=d&a[e][]=f`. */
export function parseNestedForm(text: string): Form {
  const form: Form = {};
  for (const [name, value] of new URLSearchParams(text)) {
    const path = name.split(/\]\[|\[|\]/).slice(0, name.includes('[') ? -1 : undefined);
    let place = form;
    path.forEach((part, index) => {
      const key = part === '' ? String(Object.keys(place).length) : part;
      if (index === path.length - 1) place[key] = value;
      else place = (place[key] ??= {}) as Form;
    });
  }
  return convertLists(form) as Form;
}

function convertLists(value: FormValue): FormValue {
  if (typeof value === 'string' || Array.isArray(value)) return value;
  const entries = Object.entries(value).map(([key, item]): [string, FormValue] => [key, convertLists(item)]);
  const isList = entries.length > 0 && entries.every(([key]) => /^\d+$/.test(key));
  return isList ? entries.map(([, item]) => item) : Object.fromEntries(entries);
}

/** The parameters of a request. Invalid ones throw Stripe's error. */
export class StripeParams {
  readonly form: Form;
  private readonly path: string;

  constructor(form: Form, path = '') {
    this.form = form;
    this.path = path;
  }

  /**
   * Rejects all other parameters, as Stripe does.
   * @param names fields of `Params`, the type of these parameters in the `stripe` package.
   */
  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- it checks the names
  allowOnly<Params>(...names: (keyof NoInfer<Params> & string)[]): this {
    const unknown = Object.keys(this.form).find((name) => !names.includes(name as never));
    if (unknown !== undefined) {
      const param = this.getQualifiedName(unknown);
      throw new StripeValidationError({
        code: 'parameter_unknown',
        param,
        message: `Received unknown parameter: ${param}`,
      });
    }
    return this;
  }

  text(name: string): string | undefined {
    const value = this.form[name];
    if (value === undefined || value === '') return undefined;
    return typeof value === 'string' ? value : this.invalid(name, 'Invalid string');
  }

  required(name: string): string {
    return this.text(name) ?? this.missing(name);
  }

  /** Returns one of the allowed values. */
  choice<Choice extends string>(name: string, ...choices: Choice[]): Choice | undefined {
    const value = this.text(name);
    if (value === undefined || choices.includes(value as Choice)) return value as Choice | undefined;
    return this.invalid(name, `Invalid ${name}: must be one of ${choices.join(', ')}`);
  }

  integer(name: string): number | undefined {
    const value = this.text(name);
    if (value === undefined) return undefined;
    return /^-?\d+$/.test(value)
      ? Number(value)
      : this.invalid(name, `Invalid integer: ${value}`, 'parameter_invalid_integer');
  }

  flag(name: string): boolean | undefined {
    const value = this.choice(name, 'true', 'false');
    return value === undefined ? undefined : value === 'true';
  }

  url(name: string): string {
    const value = this.required(name);
    return URL.canParse(value) ? value : this.invalid(name, 'Not a valid URL', 'url_invalid');
  }

  has(name: string): boolean {
    return this.form[name] !== undefined;
  }

  nested(name: string): StripeParams {
    const value = this.form[name] ?? {};
    if (typeof value === 'string' || Array.isArray(value)) return this.invalid(name, 'Invalid object');
    return new StripeParams(value, this.getQualifiedName(name));
  }

  /** Returns the objects of a list. */
  items(name: string): StripeParams[] {
    const value = this.form[name] ?? [];
    if (!Array.isArray(value)) return this.invalid(name, 'Invalid array');
    return value.map((item, index) => new StripeParams(item as Form, `${this.getQualifiedName(name)}[${index}]`));
  }

  texts(name: string): string[] {
    const value = this.form[name] ?? [];
    if (!Array.isArray(value)) return this.invalid(name, 'Invalid array');
    return value.map(String);
  }

  metadata(): Record<string, string> {
    const entries = Object.entries(this.nested('metadata').form).map(([key, value]): [string, string] => {
      if (typeof value !== 'string') return this.invalid('metadata', 'Metadata values must be strings');
      if (key.length > 40 || value.length > 500) this.invalid('metadata', 'Metadata is too long');
      return [key, value];
    });
    return Object.fromEntries(entries);
  }

  /** Returns an error that occurs while the request executes. */
  reject(name: string, message: string, code?: string): never {
    throw new StripeApiError(400, { code, param: this.getQualifiedName(name), message });
  }

  private invalid(name: string, message: string, code?: string): never {
    throw new StripeValidationError({ code, param: this.getQualifiedName(name), message });
  }

  private missing(name: string): never {
    const param = this.getQualifiedName(name);
    throw new StripeValidationError({ code: 'parameter_missing', param, message: `Missing required param: ${param}.` });
  }

  private getQualifiedName(name: string): string {
    return this.path === '' ? name : `${this.path}[${name}]`;
  }
}
